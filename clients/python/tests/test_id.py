import json
import os
import pathlib
import pickle
import random
import unittest
from datetime import datetime, timezone

import randflaked
from randflaked import Fields, InvalidIDError, InvalidSecretError, Secret
from randflaked._cipher import WIDTHS, Cipher, Sparx
from randflaked._id import pack

TESTDATA = pathlib.Path(__file__).parents[3] / "testdata"


def vectors(name):
    return json.loads((TESTDATA / name).read_text())


def cipher_of(key):
    """Also of keys that no secret has."""
    cipher = Cipher(Secret.new())
    cipher._sparx = Sparx(key)
    return cipher


class Vectors(unittest.TestCase):
    def test_cipher(self):
        file = vectors("sparx64.json")
        self.assertGreater(len(file["vectors"]), 200)
        for v in file["vectors"]:
            sparx = Sparx(bytes.fromhex(v["key"]))
            plain, encrypted = bytes.fromhex(v["plaintext"]), bytes.fromhex(v["ciphertext"])
            self.assertEqual(sparx.encrypt(plain), encrypted)
            self.assertEqual(sparx.decrypt(encrypted), plain)

    def test_every_width_and_lane(self):
        rng = random.Random(1)
        for v in vectors("sparx64.json")["vectors"][:20]:
            sparx = Sparx(bytes.fromhex(v["key"]))
            for count in [*WIDTHS, 7, 513]:
                blocks = bytearray(rng.randbytes(8 * count))
                at = 8 * rng.randrange(count)
                blocks[at:at + 8] = bytes.fromhex(v["plaintext"])
                encrypted = sparx.encrypt(bytes(blocks))
                self.assertEqual(encrypted[at:at + 8].hex(), v["ciphertext"])
                self.assertEqual(sparx.decrypt(encrypted), blocks)

    @unittest.skipUnless(os.environ.get("RANDFLAKE_CHAIN"),
                         "a million blocks in a row take half a minute: set RANDFLAKE_CHAIN=1")
    def test_chain(self):
        chain = vectors("sparx64.json")["chain"]
        sparx, block = Sparx(bytes.fromhex(chain["key"])), bytes.fromhex(chain["plaintext"])
        for _ in range(chain["iterations"]):
            block = sparx.encrypt(block)
        self.assertEqual(block.hex(), chain["ciphertext"])

    def test_ids(self):
        file = vectors("randflake.json")
        self.assertGreater(len(file["vectors"]), 100)
        for v in file["vectors"]:
            cipher, id = cipher_of(bytes.fromhex(v["secret"])), int(v["id"])
            fields = Fields(v["timestamp"], v["node"], v["sequence"])
            self.assertEqual(pack(fields), int(v["raw"]))
            self.assertEqual(cipher.compose(fields), id)
            self.assertEqual(cipher.inspect(id), fields)
            self.assertEqual(randflaked.to_text(id), v["text"])
            self.assertEqual(randflaked.parse(v["text"]), id)


class Text(unittest.TestCase):
    def test_well_known(self):
        for id, text in [(0, "0"), (1, "1"), (31, "v"), (32, "10"), (2**63 - 1, "7vvvvvvvvvvvv"),
                         (-2**63, "8000000000000"), (-1, "fvvvvvvvvvvvv"), (0x0123456789ABCDEF, "28q5cu4qnjff")]:
            self.assertEqual(randflaked.to_text(id), text)
            self.assertEqual(randflaked.parse(text), id)

    def test_one_text_for_each_id(self):
        for text in ["", "w", "V", "01", "00", "g000000000000", "10000000000000", " 1", "1\n", "+1", "-1", "1_0", "١",
                     "1=", None, 7]:
            with self.assertRaises(InvalidIDError, msg=repr(text)):
                randflaked.parse(text)

    def test_range(self):
        cipher = Cipher(Secret.new())
        for id in [2**63, -2**63 - 1, 1.0, "1", None]:
            for function in [randflaked.to_text, cipher.inspect]:
                with self.assertRaises(InvalidIDError):
                    function(id)
        ok = Fields(randflaked.MAX_TIMESTAMP, randflaked.MAX_NODE, randflaked.MAX_SEQUENCE)
        self.assertEqual(ok.time, datetime(2058, 11, 5, 17, 10, 23, tzinfo=timezone.utc))
        self.assertEqual(cipher.inspect(cipher.compose(ok)), ok)
        for wrong in [dict(second=ok.second + 1), dict(second=randflaked.EPOCH - 1), dict(node=1 << 17), dict(node=-1),
                      dict(sequence=1 << 17)]:
            with self.assertRaises(InvalidIDError):
                cipher.compose(ok._replace(**wrong))


class Secrets(unittest.TestCase):
    HEX = "dffd6021bb2bd5b0af676290809ec3a5"

    def test_parse(self):
        want = Secret(bytes.fromhex(self.HEX))
        for text in [self.HEX, self.HEX.upper(), "3/1gIbsr1bCvZ2KQgJ7DpQ==", "3/1gIbsr1bCvZ2KQgJ7DpQ",
                     "3_1gIbsr1bCvZ2KQgJ7DpQ"]:
            self.assertEqual(Secret.parse(text), want)
        self.assertEqual(want.hex(), self.HEX)
        self.assertNotEqual(Secret.new(), Secret.new())

    def test_refused(self):
        for text in ["", self.HEX[1:], self.HEX + "0", "0" * 32, "A" * 22, "3/1gIbsr1bCvZ2KQgJ7DpR==",
                     "3/1gIbsr1bCvZ2KQgJ7_pQ==", self.HEX + "\n"]:
            with self.assertRaises(InvalidSecretError) as caught:
                Secret.parse(text)
            if len(text) > 1:
                self.assertNotIn(text, str(caught.exception))
        for key in [b"", bytes(15), bytes(16), "dffd6021bb2bd5b0", None]:
            with self.assertRaises(InvalidSecretError):
                Secret(key)

    def test_never_shown(self):
        secret = Secret.parse(self.HEX)
        for shown in [repr(secret), str(secret), f"{secret}", "%s %r" % (secret, secret), repr([secret])]:
            self.assertNotIn("dffd", shown)
            self.assertIn("redacted", shown)
        with self.assertRaises(TypeError):
            pickle.dumps(secret)

    def test_check_value(self):
        self.assertEqual(Secret.parse(self.HEX).check_value(), "c063594529ba40d3")
