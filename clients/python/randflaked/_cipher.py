"""SPARX-64/128, many blocks at a time.

SPARX (Dinu, Perrin, Udovenko, Velichkov, Großschädl, Biryukov: "Design Strategies for ARX with Provable Bounds: SPARX
and LAX", ASIACRYPT 2016) encrypts a block of four 16-bit words, two branches (a, b) and (c, d), in eight steps. A step
is three rounds on each branch, then the linear layer.

Here one long integer holds word a of many blocks, each in a lane of 32 bits, and likewise b, c, d: Python's integers do
for all lanes what they do for one. The upper half of a lane takes carries and rotated bits until a mask clears it.
"""

import struct
from functools import lru_cache
from typing import Callable, List, Sequence, Tuple

from ._id import Fields, pack, unpack, unsigned
from ._secret import Secret

Words = Tuple[int, int, int, int]

LANE = 4  # bytes
WIDTHS = (1, 8, 64, 512)  # how many blocks go side by side


class Sparx:
    """The block cipher under one key of 16 bytes. Safe for concurrent use."""

    def __init__(self, key: bytes) -> None:
        keys = expand(key)

        @lru_cache(None)
        def spread(width: int) -> List[int]:
            return [k * ones(width) for k in keys]

        self._keys = spread

    def encrypt(self, blocks: bytes) -> bytes:
        """Encrypts blocks of 8 bytes, in the byte order of the published vectors: words are big-endian."""
        return self._in_lanes(encrypt, blocks)

    def decrypt(self, blocks: bytes) -> bytes:
        """Is the inverse of encrypt."""
        return self._in_lanes(decrypt, blocks)

    def _in_lanes(self, crypt: Callable[[Sequence[int], Words, int], Words], blocks: bytes) -> bytes:
        done: List[bytes] = []
        for at in range(0, len(blocks), 8 * WIDTHS[-1]):
            part = blocks[at:at + 8 * WIDTHS[-1]]
            width = next(w for w in WIDTHS if 8 * w >= len(part))
            done.append(store(crypt(self._keys(width), load(part), 0xFFFF * ones(width)), width)[:len(part)])
        return b"".join(done)


class Cipher:
    """Opens the IDs of a secret, and makes the ID of given fields. Safe for concurrent use.

    It does not take a constant time, as Python's integers don't.
    """

    def __init__(self, secret: Secret) -> None:
        self._sparx = Sparx(secret._key)

    def inspect(self, id: int) -> Fields:
        """Opens an ID. Every 64-bit value opens to some fields, be it an ID or not."""
        return self.inspect_all([id])[0]

    def inspect_all(self, ids: Sequence[int]) -> List[Fields]:
        """Opens many IDs, much faster than one by one."""
        encrypted = struct.pack(f"<{len(ids)}Q", *[unsigned(id) for id in ids])
        return [unpack(raw) for raw in struct.unpack(f"<{len(ids)}Q", self._sparx.decrypt(encrypted))]

    def compose(self, fields: Fields) -> int:
        """Returns the ID with these fields. It knows nothing of leases: a Generator makes unique IDs."""
        return self.encrypt_raws([pack(fields)])[0]

    def encrypt_raws(self, raws: Sequence[int]) -> List[int]:
        """Encrypts raw values, of 64 bits without sign, to IDs."""
        form = f"<{len(raws)}Q"
        return list(struct.unpack(form.lower(), self._sparx.encrypt(struct.pack(form, *raws))))


@lru_cache(None)
def ones(width: int) -> int:
    """Returns 1 in each lane: a multiple of it has the same value in each."""
    return int.from_bytes(b"\1\0\0\0" * width, "little")


def load(blocks: bytes) -> Words:
    """Returns the words of blocks."""

    def word(at: int) -> int:
        lanes = bytearray(LANE * (len(blocks) // 8))
        lanes[0::LANE], lanes[1::LANE] = blocks[at + 1::8], blocks[at::8]
        return int.from_bytes(lanes, "little")

    return word(0), word(2), word(4), word(6)


def store(words: Words, width: int) -> bytes:
    """Is the inverse of load."""
    blocks = bytearray(8 * width)
    for at, word in zip((0, 2, 4, 6), words):
        lanes = word.to_bytes(LANE * width, "little")
        blocks[at + 1::8], blocks[at::8] = lanes[0::LANE], lanes[1::LANE]
    return bytes(blocks)


def arx(x: int, y: int, mask: int) -> Tuple[int, int]:
    x = ((x >> 7 | x << 9) & mask) + y & mask
    return x, (y << 2 | y >> 14) & mask ^ x


def inverse_arx(x: int, y: int, mask: int) -> Tuple[int, int]:
    y ^= x
    y = (y >> 2 | y << 14) & mask
    x = (x ^ mask) + y & mask ^ mask  # x - y, as ~(~x + y)
    return (x << 7 | x >> 9) & mask, y


def expand(key: bytes) -> List[int]:
    """Returns the 100 words of round key: for each step six words for one branch and six for the other, then four."""
    k = [int.from_bytes(key[at:at + 2], "big") for at in range(0, 16, 2)]
    keys: List[int] = []
    for constant in range(1, 17):
        keys += k[:6]
        k[0], k[1] = arx(k[0], k[1], 0xFFFF)
        k[2], k[3], k[7] = k[2] + k[0] & 0xFFFF, k[3] + k[1] & 0xFFFF, k[7] + constant & 0xFFFF
        k = k[6:] + k[:6]
    return keys + k[:4]


def encrypt(keys: Sequence[int], words: Words, mask: int) -> Words:
    a, b, c, d = words
    for step in range(0, 96, 12):
        for at in range(step, step + 6, 2):
            a, b = arx(a ^ keys[at], b ^ keys[at + 1], mask)
            c, d = arx(c ^ keys[at + 6], d ^ keys[at + 7], mask)
        t = a ^ b
        t = (t << 8 | t >> 8) & mask
        a, b, c, d = c ^ a ^ t, d ^ b ^ t, a, b
    return a ^ keys[96], b ^ keys[97], c ^ keys[98], d ^ keys[99]


def decrypt(keys: Sequence[int], words: Words, mask: int) -> Words:
    a, b, c, d = (word ^ key for word, key in zip(words, keys[96:]))
    for step in range(84, -1, -12):
        t = c ^ d
        t = (t << 8 | t >> 8) & mask
        a, b, c, d = c, d, a ^ c ^ t, b ^ d ^ t
        for at in range(step + 4, step - 1, -2):
            a, b = inverse_arx(a, b, mask)
            c, d = inverse_arx(c, d, mask)
            a, b, c, d = a ^ keys[at], b ^ keys[at + 1], c ^ keys[at + 6], d ^ keys[at + 7]
    return a, b, c, d
