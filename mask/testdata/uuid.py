"""Writes uuid.json beside it: UUIDs of version 7 and what package mask makes of them, by an implementation of its own.

It has AES-128 (FIPS 197) and FF1 (NIST SP 800-38G) as the standards write them, on numerals and on integers of any size, and checks
both against the standards' examples. Run it with python3, which needs nothing else."""

import hashlib
import hmac
import json
import pathlib
import random


def times2(x):
    return x << 1 ^ (0x11B if x & 0x80 else 0)


def product(x, y):
    total = 0
    while y:
        if y & 1:
            total ^= x
        x, y = times2(x), y >> 1
    return total


def make_sbox():
    sbox = []
    for x in range(256):
        inverse = next((y for y in range(256) if product(x, y) == 1), 0)
        value = 0x63
        for turn in range(5):
            value ^= (inverse << turn | inverse >> (8 - turn)) & 0xFF
        sbox.append(value)
    return sbox


SBOX = make_sbox()


def round_keys(key):
    words = [list(key[i : i + 4]) for i in range(0, 16, 4)]
    constant = 1
    for i in range(4, 44):
        word = words[-1]
        if i % 4 == 0:
            word = [SBOX[b] for b in word[1:] + word[:1]]
            word[0] ^= constant
            constant = times2(constant)
        words.append([a ^ b for a, b in zip(words[-4], word)])
    return [sum(words[i : i + 4], []) for i in range(0, 44, 4)]


def aes(keys, block):
    state = [a ^ b for a, b in zip(block, keys[0])]
    for number, key in enumerate(keys[1:], 1):
        state = [SBOX[state[(i + 4 * (i % 4)) % 16]] for i in range(16)]
        if number < 10:
            mixed = []
            for column in range(0, 16, 4):
                c = state[column : column + 4]
                for i in range(4):
                    mixed.append(times2(c[i]) ^ times2(c[(i + 1) % 4]) ^ c[(i + 1) % 4] ^ c[(i + 2) % 4] ^ c[(i + 3) % 4])
            state = mixed
        state = [a ^ b for a, b in zip(state, key)]
    return bytes(state)


def number(numerals, radix):
    total = 0
    for numeral in numerals:
        total = total * radix + numeral
    return total


def numerals_of(value, radix, length):
    numerals = []
    for _ in range(length):
        value, numeral = divmod(value, radix)
        numerals.append(numeral)
    return numerals[::-1]


def ff1(keys, radix, numerals, tweak=b""):
    n, t = len(numerals), len(tweak)
    u = n // 2
    v = n - u
    a, b = numerals[:u], numerals[u:]
    size = ((radix**v - 1).bit_length() + 7) // 8
    d = 4 * ((size + 3) // 4) + 4
    p = bytes([1, 2, 1]) + radix.to_bytes(3, "big") + bytes([10, u % 256]) + n.to_bytes(4, "big") + t.to_bytes(4, "big")
    for i in range(10):
        q = tweak + bytes(-(t + size + 1) % 16) + bytes([i]) + number(b, radix).to_bytes(size, "big")
        r = bytes(16)
        for at in range(0, len(p + q), 16):
            r = aes(keys, bytes(x ^ y for x, y in zip(r, (p + q)[at : at + 16])))
        y = int.from_bytes(r[:d], "big")
        m = u if i % 2 == 0 else v
        a, b = b, numerals_of((number(a, radix) + y) % radix**m, radix, m)
    return a + b


def derive(secret, space, version):
    """Secret.Derive: HKDF-SHA-256 without salt."""
    info = b"randflake space key " + version.to_bytes(4, "big") + space.encode()
    prk = hmac.new(bytes(32), secret, hashlib.sha256).digest()
    return hmac.new(prk, info + b"\x01", hashlib.sha256).digest()[:16]


def mask(keys, inner):
    bits = f"{inner:0128b}"
    shown = ff1(keys, 2, [int(bit) for bit in bits[:48] + bits[52:64] + bits[66:]])
    text = "".join(map(str, shown))
    return int(text[:48] + "0100" + text[48:60] + "10" + text[60:], 2)


def dashed(value):
    digits = f"{value:032x}"
    return "-".join([digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]])


def version7(bits):
    """Puts the version and the variant into 122 bits."""
    return bits >> 74 << 80 | 7 << 76 | (bits >> 62 & 0xFFF) << 64 | 2 << 62 | bits & (1 << 62) - 1


nist = round_keys(bytes.fromhex("2b7e151628aed2a6abf7158809cf4f3c"))
assert aes(nist, bytes.fromhex("3243f6a8885a308d313198a2e0370734")).hex() == "3925841d02dc09fbdc118597196a0b32"
assert ff1(nist, 10, list(range(10))) == [2, 4, 3, 3, 4, 7, 7, 4, 8, 4]
assert ff1(nist, 10, list(range(10)), bytes.fromhex("39383736353433323130")) == [6, 1, 2, 4, 2, 0, 0, 7, 7, 3]

secret = bytes.fromhex("8b1f9a2c5d3e47608192a3b4c5d6e7f8")
kind = "sessions"
keys = round_keys(derive(secret, "mask.UUID FF1-AES-128\0" + kind, 1))
chance = random.Random(7)
inners = [0, 1, 2**122 - 1] + [1 << i for i in range(1, 122)]
while len(inners) < 1000:
    inners.append(chance.getrandbits(122))
vectors = [[dashed(version7(bits)), dashed(mask(keys, version7(bits)))] for bits in inners]
lines = ",\n".join("\t\t" + json.dumps(vector) for vector in vectors)
text = f'{{\n\t"secret": "{secret.hex()}",\n\t"kind": "{kind}",\n\t"vectors": [\n{lines}\n\t]\n}}\n'
pathlib.Path(__file__).with_name("uuid.json").write_text(text)
