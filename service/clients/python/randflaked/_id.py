"""IDs: signed 64-bit integers, as a BIGINT column holds them, their text, and the secret that makes and opens them.

The cipher is SPARX-64/128 (Dinu et al.: "Design Strategies for ARX with Provable Bounds: SPARX and LAX", ASIACRYPT
2016): two branches (a, b) and (c, d) of 16-bit words, eight steps of three rounds on each and a linear layer. Here one
long integer x holds a and c of many blocks, each in a lane of 32 bits, and y holds b and d: what is done to x and y is
done to all blocks. The upper half of a lane takes carries and rotated bits until a mask clears it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import struct
from datetime import datetime, timezone
from functools import lru_cache
from math import floor
from operator import index
from typing import Callable, NamedTuple, Sequence, SupportsIndex

from ._process import Uncopied

# A raw value is second - EPOCH (30 bits) | node (17 bits) | sequence (17 bits).
EPOCH = 1_730_000_000  # 2024-10-27 03:33:20 UTC
MAX_SECOND = EPOCH + (1 << 30) - 1  # 2058-11-05 17:10:23 UTC
MAX_NODE = MAX_SEQUENCE = (1 << 17) - 1
WIDTH = 512  # the most blocks side by side


def check_range(name: str, value: SupportsIndex, least: int, most: int) -> int:
    """Returns the value as an int, which it may be of another type, such as numpy's."""
    if not hasattr(value, "__index__") or not least <= index(value) <= most:
        raise ValueError(f"randflake: {name}: {value!r:.40}: want an integer from {least} to {most}")
    return index(value)


class Fields(NamedTuple):
    """What an ID holds: a whole second of UTC, a node and a sequence number."""

    time: datetime
    node: int
    sequence: int


def _before(prefix: str) -> str:
    if not re.fullmatch("|[a-z]([a-z0-9_]{0,61}[a-z0-9])?", prefix):
        raise ValueError(f"randflake: prefix {prefix!r:.80}: want up to 63 of a-z, 0-9 and _, a letter first, no _ last")
    return prefix and prefix + "_"


def format_id(id: SupportsIndex, prefix: str = "") -> str:
    """Returns the text of an ID: 13 digits of base32hex in lower case, the first from g to v. They are those of
    2**64 + the unsigned ID, so that no text looks like a number. With a prefix, such as "ord", it is the text of a
    typed ID: ord_jvgoe12ccb8gh. The ID may also be unsigned, as in a BIGINT UNSIGNED."""
    unsigned = check_range("ID", id, -1 << 63, (1 << 64) - 1) % (1 << 64)
    value = (1 << 64) + unsigned
    digits = ["0123456789abcdefghijklmnopqrstuv"[value >> shift & 31] for shift in range(60, -1, -5)]
    return _before(prefix) + "".join(digits)


def parse_id(text: str, prefix: str = "") -> int:
    """Reads what format_id returned, with that prefix, and nothing else: each ID has exactly one text."""
    before = _before(prefix)
    if not isinstance(text, str) or not text.startswith(before):
        raise ValueError(f"randflake: ID {text!r:.80}: want a text such as {before}jvgoe12ccb8gh")
    digits = text[len(before):]
    if not re.fullmatch("[g-v][0-9a-v]{12}", digits):
        raise ValueError(f"randflake: ID {text!r:.80}: {_look(digits)}")
    value = int(digits, 32) - (1 << 64)
    return value - (value >> 63 << 64)


def _look(digits: str) -> str:
    """Says what digits that are refused look like."""
    if re.fullmatch("-?[0-9]+", digits):
        return "a decimal number: convert it by int(text)"
    if re.fullmatch("[0-9a-f][0-9a-v]{0,12}", digits):
        return "as gosuda/randflake prints it: convert it once, by format_id(int(text, 32))"
    if len(digits) == 13 and digits != digits.lower():
        return "has capitals: want lower case"
    return "want 13 digits of base32hex in lower case (0-9, a-v), the first from g to v"


class Secret(Uncopied):
    """The 128-bit key of an ID space, which opens every ID in it. It is never shown. Safe for use by many threads."""

    __slots__ = ("_key", "_lanes")

    def __init__(self, key: bytes) -> None:
        if not isinstance(key, bytes) or len(key) != 16 or not any(key):
            raise ValueError("randflake: secret: want 16 bytes, not all zeros; Secret.parse reads text")
        self._key = key
        round_keys = _expand(key)

        @lru_cache(None)
        def lanes(width: int) -> tuple[list[int], int, int, int]:
            """Returns for width blocks the round keys, and masks of words, of lower lanes, and of every other byte."""
            ones = int.from_bytes(struct.pack("<Q", 1) * width, "little")
            keys = [k * ones for k in round_keys]
            return keys, 0x0000FFFF0000FFFF * ones, 0xFFFF * ones, 0x00FF00FF00FF00FF * ones

        self._lanes = lanes

    @classmethod
    def parse(cls, text: str) -> Secret:
        """Reads 32 hexadecimal digits, or the base64 of 16 bytes, in either alphabet, with or without padding."""
        if re.fullmatch("[0-9A-Fa-f]{32}", text):
            return cls(bytes.fromhex(text))
        if re.fullmatch("[0-9A-Za-z+/_-]{21}[AQgw](==)?", text):
            return cls(base64.b64decode(text[:22].replace("-", "+").replace("_", "/") + "=="))
        raise ValueError("randflake: secret: want 32 hexadecimal digits or the base64 of 16 bytes")

    def check_value(self) -> str:
        """Returns 16 hexadecimal digits that tell secrets apart without revealing them."""
        return hmac.new(self._key, b"randflake key check value", hashlib.sha256).hexdigest()[:16]

    def inspect(self, id: SupportsIndex) -> Fields:
        """Opens an ID, signed or unsigned. Every 64-bit value opens to some fields, whether it is an ID or not."""
        unsigned = check_range("ID", id, -1 << 63, (1 << 64) - 1) % (1 << 64)
        [raw] = self._crypt(_decrypt, [unsigned], "Q")
        return Fields(datetime.fromtimestamp((raw >> 34) + EPOCH, timezone.utc), raw >> 17 & MAX_NODE, raw & MAX_SEQUENCE)

    def compose(self, fields: Fields) -> int:
        """Returns the ID with these fields. It knows nothing of leases: a Generator makes unique IDs."""
        if fields.time.tzinfo is None:
            raise ValueError("randflake: time: want one with a time zone, such as timezone.utc")
        second = check_range("second", floor(fields.time.timestamp()), EPOCH, MAX_SECOND)
        node = check_range("node", fields.node, 0, MAX_NODE)
        sequence = check_range("sequence", fields.sequence, 0, MAX_SEQUENCE)
        return self._encrypt([second - EPOCH << 34 | node << 17 | sequence])[0]

    def _encrypt(self, raws: Sequence[int]) -> list[int]:
        """Returns the IDs of raw values."""
        return self._crypt(_encrypt, raws, "q")

    def _crypt(self, crypt: Callable[..., tuple[int, int]], values: Sequence[int], form: str) -> list[int]:
        """Encrypts or decrypts unsigned values, and returns them in a form of struct: signed (q) or unsigned (Q)."""
        crypted: list[int] = []
        for at in range(0, len(values), WIDTH):
            part = values[at:at + WIDTH]
            width = 1 << (len(part) - 1).bit_length()  # a power of two, as the lanes for each width are kept
            keys, mask, low, odd = self._lanes(width)
            words = _swap(int.from_bytes(struct.pack(f"<{len(part)}Q", *part), "little"), odd)
            x, y = crypt(keys, words & mask, words >> 16 & mask, mask, low)
            blocks = _swap(x | y << 16, odd).to_bytes(8 * width, "little")
            crypted += struct.unpack_from(f"<{len(part)}{form}", blocks)
        return crypted


def _swap(words: int, odd: int) -> int:
    """Swaps the bytes of each word: the blocks are little-endian, and the cipher's words are big-endian."""
    return (words & odd) << 8 | words >> 8 & odd


def _arx(x: int, y: int, mask: int) -> tuple[int, int]:
    x = ((x >> 7 | x << 9) & mask) + y & mask
    return x, (y << 2 | y >> 14) & mask ^ x


def _expand(key: bytes) -> list[int]:
    """Returns the words of round keys, as x and y are made: two for each of the 24 rounds, then two."""
    k = list(struct.unpack(">8H", key))
    words = []
    for constant in range(1, 17):
        words.append(k[:6])
        k[0], k[1] = _arx(k[0], k[1], 0xFFFF)
        k[2] = k[2] + k[0] & 0xFFFF
        k[3] = k[3] + k[1] & 0xFFFF
        k[7] = k[7] + constant & 0xFFFF
        k = k[6:] + k[:6]
    rounds = [ab[i] | cd[i] << 32 for ab, cd in zip(words[0::2], words[1::2]) for i in range(6)]
    return rounds + [k[0] | k[2] << 32, k[1] | k[3] << 32]


def _encrypt(keys: Sequence[int], x: int, y: int, mask: int, low: int) -> tuple[int, int]:
    for at in range(0, 48, 2):
        x, y = _arx(x ^ keys[at], y ^ keys[at + 1], mask)
        if at % 6 == 4:
            a, b = x & low, y & low
            t = ((a ^ b) << 8 | (a ^ b) >> 8) & low
            x, y = x >> 32 & low ^ a ^ t | a << 32, y >> 32 & low ^ b ^ t | b << 32
    return x ^ keys[48], y ^ keys[49]


def _decrypt(keys: Sequence[int], x: int, y: int, mask: int, low: int) -> tuple[int, int]:
    x, y = x ^ keys[48], y ^ keys[49]
    for at in range(46, -1, -2):
        if at % 6 == 4:
            a, b = x >> 32 & low, y >> 32 & low
            t = ((a ^ b) << 8 | (a ^ b) >> 8) & low
            x, y = a | (x & low ^ a ^ t) << 32, b | (y & low ^ b ^ t) << 32
        y = ((y ^ x) >> 2 | (y ^ x) << 14) & mask
        x = (x ^ mask) + y & mask ^ mask  # x - y, as ~(~x + y)
        x, y = (x << 7 | x >> 9) & mask ^ keys[at], y ^ keys[at + 1]
    return x, y
