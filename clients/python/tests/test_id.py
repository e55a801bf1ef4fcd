import copy
import json
import pathlib
import pickle
import struct
import unittest

import randflaked
from randflaked import Cipher, Fields, InvalidArgumentError, Secret, _cipher

TESTDATA = pathlib.Path(__file__).parents[3] / "testdata"


def vectors(name):
    return json.loads((TESTDATA / name).read_text())["vectors"]


def cipher(key):
    """Also of keys that no secret has."""
    secret = Secret.new()
    secret._key = bytes.fromhex(key)
    return Cipher(secret)


class Vectors(unittest.TestCase):
    def test_cipher(self):
        for v in vectors("sparx64.json"):
            plain, encrypted = (struct.unpack("<Q", bytes.fromhex(v[name]))[0] for name in ("plaintext", "ciphertext"))
            self.assertEqual(cipher(v["key"])._crypt(_cipher._encrypt, plain, 1, "Q"), (encrypted,))
            self.assertEqual(cipher(v["key"])._crypt(_cipher._decrypt, encrypted, 1, "Q"), (plain,))

    def test_ids(self):
        for v in vectors("randflake.json"):
            fields, id = Fields(v["timestamp"], v["node"], v["sequence"]), int(v["id"])
            self.assertEqual(cipher(v["secret"]).compose(fields), id)
            self.assertEqual(cipher(v["secret"]).inspect(id), fields)
            self.assertEqual((randflaked.to_text(id), randflaked.parse(v["text"])), (v["text"], id))
            self.assertEqual(randflaked.from_unsigned(randflaked.to_unsigned(id)), id)

    def test_every_width(self):
        one = Cipher(Secret.new())
        for raw in (0, (1 << 64) - 1030):
            for count in (1, 7, 8, 9, 64, 65, 512, 513, 1030):
                ids = one.encrypt(raw, count)
                self.assertEqual(ids, [id for at in range(count) for id in one.encrypt(raw + at, 1)])
                self.assertEqual([randflaked._id.pack(f) for f in one.inspect_all(ids)], list(range(raw, raw + count)))


class Text(unittest.TestCase):
    def test_one_text_for_each_id(self):
        for id, text in [(0, "0"), (31, "v"), (32, "10"), (2**63 - 1, "7vvvvvvvvvvvv"), (-2**63, "8000000000000"),
                         (-1, "fvvvvvvvvvvvv")]:
            self.assertEqual((randflaked.to_text(id), randflaked.parse(text)), (text, id))
        for text in ["", "w", "V", "01", "00", "g000000000000", "10000000000000", " 1", "1\n", "+1", "-1", "1_0", "١",
                     None, 7]:
            self.assertRaises(InvalidArgumentError, randflaked.parse, text)

    def test_range(self):
        one = Cipher(Secret.new())
        for bad in [2**63, -2**63 - 1, 1.0, "1", None]:
            for function in (randflaked.to_text, randflaked.to_unsigned, one.inspect):
                self.assertRaises(InvalidArgumentError, function, bad)
        for bad in [-1, 2**64, "1"]:
            self.assertRaises(InvalidArgumentError, randflaked.from_unsigned, bad)
        last = Fields(randflaked.MAX_TIMESTAMP, randflaked.MAX_NODE, randflaked.MAX_SEQUENCE)
        self.assertEqual(one.inspect(one.compose(last)), last)
        for name, value in [("second", last.second + 1), ("second", randflaked.EPOCH - 1), ("node", 1 << 17),
                            ("node", -1), ("sequence", 1 << 17), ("sequence", "1")]:
            self.assertRaises(InvalidArgumentError, one.compose, last._replace(**{name: value}))


class Secrets(unittest.TestCase):
    HEX = "dffd6021bb2bd5b0af676290809ec3a5"

    def test_parse(self):
        for text in [self.HEX, self.HEX.upper(), "3/1gIbsr1bCvZ2KQgJ7DpQ==", "3_1gIbsr1bCvZ2KQgJ7DpQ"]:
            self.assertEqual(Secret.parse(text), Secret(bytes.fromhex(self.HEX)))
        self.assertEqual(Secret.parse(self.HEX).hex(), self.HEX)
        self.assertEqual(Secret.parse(self.HEX).check_value(), "c063594529ba40d3")
        for text in [self.HEX[1:], self.HEX + "0", "0" * 32, "A" * 22, "3/1gIbsr1bCvZ2KQgJ7DpR==",
                     "3/1gIbsr1bCvZ2KQgJ7_pQ==", self.HEX + "\n"]:
            with self.assertRaises(InvalidArgumentError) as caught:
                Secret.parse(text)
            self.assertNotIn(text, str(caught.exception))
        for key in [b"", bytes(15), bytes(16), "dffd6021bb2bd5b0", None]:
            self.assertRaises(InvalidArgumentError, Secret, key)

    def test_never_shown(self):
        secret = Secret.parse(self.HEX)
        for shown in [repr(secret), str(secret), f"{secret}", repr([secret]), repr(Cipher(secret))]:
            self.assertNotIn("dffd", shown)
        for way in (copy.copy, copy.deepcopy, pickle.dumps, vars):
            self.assertRaises(TypeError, way, secret)
