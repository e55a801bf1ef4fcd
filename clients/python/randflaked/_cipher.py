"""SPARX-64/128, many blocks at a time.

SPARX (Dinu, Perrin, Udovenko, Velichkov, Großschädl, Biryukov: "Design Strategies for ARX with Provable Bounds: SPARX
and LAX", ASIACRYPT 2016) encrypts a block of four 16-bit words, two branches (a, b) and (c, d), in eight steps. A step
is three rounds on each branch, then the linear layer.

Here one long integer x holds the words a and c of many blocks, each in a lane of 32 bits, and y holds b and d: Python's
integers do for all lanes what they do for one. The upper half of a lane takes carries and rotated bits until a mask
clears it. A block's first lane, of a and b, is the lower one.
"""

import struct
from functools import lru_cache
from typing import Callable, List, Sequence, Tuple

from ._id import EPOCH, MAX_NODE, MAX_SEQUENCE, Fields, from_unsigned, pack, to_unsigned
from ._process import Uncopied
from ._secret import Secret

WIDTHS = (8, 64, 512)  # how many blocks go side by side


class Cipher(Uncopied):
    """Opens the IDs of a secret, and makes the ID of given fields. Safe for use by many threads, not constant-time."""

    def __init__(self, secret: Secret) -> None:
        keys = _expand(secret._key)
        self._keys: Callable[[int], List[int]] = lru_cache(None)(lambda width: [k * _lanes(width)[0] for k in keys])

    def inspect(self, id: int) -> Fields:
        """Opens an ID. Every 64-bit value opens to some fields, whether it is an ID or not."""
        return self.inspect_all([id])[0]

    def inspect_all(self, ids: Sequence[int]) -> List[Fields]:
        """Opens many IDs, much faster than one by one."""
        fields: List[Fields] = []
        for at in range(0, len(ids), WIDTHS[-1]):
            blocks = struct.pack(f"<{len(ids[at:at + WIDTHS[-1]])}Q", *map(to_unsigned, ids[at:at + WIDTHS[-1]]))
            for raw in self._crypt(_decrypt, int.from_bytes(blocks, "little"), len(blocks) // 8, "Q"):
                fields.append(Fields((raw >> 34) + EPOCH, raw >> 17 & MAX_NODE, raw & MAX_SEQUENCE))
        return fields

    def compose(self, fields: Fields) -> int:
        """Returns the ID with these fields. It knows nothing of leases: a Generator makes unique IDs."""
        return self.encrypt(pack(fields), 1)[0]

    def encrypt(self, raw: int, count: int) -> List[int]:
        """Returns the IDs of so many raw values in a row."""
        ids: List[int] = []
        for at in range(0, count, WIDTHS[-1]):
            n = min(count - at, WIDTHS[-1])
            ones, ramp, *_ = _lanes(_width(n))
            ids += self._crypt(_encrypt, (raw + at) * ones + ramp, n, "q")
        return ids

    def _crypt(self, crypt: Callable[..., Tuple[int, int]], blocks: int, count: int, form: str) -> Tuple[int, ...]:
        width = _width(count)
        _, _, mask, low, odd = _lanes(width)
        words = (blocks & odd) << 8 | blocks >> 8 & odd  # as words are big-endian
        x, y = crypt(self._keys(width), words & mask, words >> 16 & mask, mask, low)
        words = x | y << 16
        words = (words & odd) << 8 | words >> 8 & odd
        return struct.unpack_from(f"<{count}{form}", words.to_bytes(8 * width, "little"))


def _width(count: int) -> int:
    return next(width for width in WIDTHS if width >= count)


@lru_cache(None)
def _lanes(width: int) -> Tuple[int, ...]:
    """Returns, for each block: 1; its number; masks of its words in x and y, of its lower lane, of every other byte."""
    ones = int.from_bytes(struct.pack("<Q", 1) * width, "little")
    ramp = int.from_bytes(struct.pack(f"<{width}Q", *range(width)), "little")
    return ones, ramp, 0x0000FFFF0000FFFF * ones, 0xFFFF * ones, 0x00FF00FF00FF00FF * ones


def _arx(x: int, y: int, mask: int) -> Tuple[int, int]:
    x = ((x >> 7 | x << 9) & mask) + y & mask
    return x, (y << 2 | y >> 14) & mask ^ x


def _expand(key: bytes) -> List[int]:
    """Returns the words of round key, as x and y are made: two for each of the 24 rounds, then two."""
    k, words = list(struct.unpack(">8H", key)), []
    for constant in range(1, 17):
        words.append(k[:6])
        k[0], k[1] = _arx(k[0], k[1], 0xFFFF)
        k[2], k[3], k[7] = k[2] + k[0] & 0xFFFF, k[3] + k[1] & 0xFFFF, k[7] + constant & 0xFFFF
        k = k[6:] + k[:6]
    rounds = [ab[i] | cd[i] << 32 for ab, cd in zip(words[0::2], words[1::2]) for i in range(6)]
    return rounds + [k[0] | k[2] << 32, k[1] | k[3] << 32]


def _encrypt(keys: Sequence[int], x: int, y: int, mask: int, low: int) -> Tuple[int, int]:
    for at in range(0, 48, 2):
        x, y = _arx(x ^ keys[at], y ^ keys[at + 1], mask)
        if at % 6 == 4:
            a, b = x & low, y & low
            t = a ^ b
            t = (t << 8 | t >> 8) & low
            x, y = x >> 32 & low ^ a ^ t | a << 32, y >> 32 & low ^ b ^ t | b << 32
    return x ^ keys[48], y ^ keys[49]


def _decrypt(keys: Sequence[int], x: int, y: int, mask: int, low: int) -> Tuple[int, int]:
    x, y = x ^ keys[48], y ^ keys[49]
    for at in range(46, -1, -2):
        if at % 6 == 4:
            a, b = x >> 32 & low, y >> 32 & low
            t = a ^ b
            t = (t << 8 | t >> 8) & low
            x, y = a | (x & low ^ a ^ t) << 32, b | (y & low ^ b ^ t) << 32
        y ^= x
        y = (y >> 2 | y << 14) & mask
        x = (x ^ mask) + y & mask ^ mask  # x - y, as ~(~x + y)
        x, y = (x << 7 | x >> 9) & mask ^ keys[at], y ^ keys[at + 1]
    return x, y
