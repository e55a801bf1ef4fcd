import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Cipher, EPOCH, MAX_NODE, MAX_SECOND, MAX_SEQUENCE, Secret, format, parse } from "@randflake/client/id";
import { decrypt, encrypt, expand } from "../dist/sparx.js";

const vectors = (name) => JSON.parse(readFileSync(new URL(`../../../testdata/${name}`, import.meta.url), "utf8"));
const bytes = (hex) => Uint8Array.from(Buffer.from(hex, "hex"));
const block = new BigInt64Array(1), halves = new Int32Array(block.buffer);
const refused = { name: "RandflakeError", code: "invalid_argument" };

/** Blocks of the vectors are bytes in order. */
const number = (hex) => Buffer.from(hex, "hex").readBigInt64LE();
const encrypted = (keys, value) => {
  encrypt(keys, halves, 0, 1, Number(BigInt.asIntN(32, value >> 32n)), Number(BigInt.asIntN(32, value)));
  return block[0];
};
const decrypted = (keys, value) => {
  block[0] = value;
  decrypt(keys, halves);
  return block[0];
};

test("vectors and chain of the cipher", () => {
  const { vectors: all, chain } = vectors("sparx64.json");
  assert.ok(all.length > 200);
  for (const { key, plaintext, ciphertext } of all) {
    const keys = expand(bytes(key));
    assert.equal(encrypted(keys, number(plaintext)), number(ciphertext));
    assert.equal(decrypted(keys, number(ciphertext)), number(plaintext));
  }
  const keys = expand(bytes(chain.key));
  let value = number(chain.plaintext);
  for (let i = 0; i < chain.iterations; i++) value = encrypted(keys, value);
  assert.equal(value, number(chain.ciphertext));
  for (let i = 0; i < chain.iterations; i++) value = decrypted(keys, value);
  assert.equal(value, number(chain.plaintext));
});

test("a run of blocks carries into the upper half", () => {
  const keys = expand(bytes("000102030405060708090a0b0c0d0e0f")), run = new BigInt64Array(8);
  encrypt(keys, new Int32Array(run.buffer), 0, 8, 5, -4);
  run.forEach((id, i) => assert.equal(decrypted(keys, id), (5n << 32n) + 0xffff_fffcn + BigInt(i)));
});

test("vectors of the format", () => {
  const { vectors: all } = vectors("randflake.json");
  assert.ok(all.length > 100);
  for (const { secret, timestamp, node, sequence, raw, id, text } of all) {
    assert.equal(encrypted(expand(bytes(secret)), BigInt(raw)), BigInt(id));
    assert.equal(format(BigInt(id)), text);
    assert.equal(parse(text), BigInt(id));
    if (/^0+$/.test(secret)) continue; // no Secret
    const cipher = new Cipher(Secret.parse(secret)), fields = { time: new Date(timestamp * 1000), node, sequence };
    assert.equal(cipher.compose(fields), BigInt(id));
    assert.deepEqual(cipher.inspect(BigInt(id)), fields);
  }
});

test("text is strict, and every ID has one", () => {
  for (const bad of ["", "g000000000000", "00", "0a", "A", "w", "-1", " 1", "1\n", "1=", "10000000000000", "ü", 12]) {
    assert.throws(() => parse(bad), refused, String(bad));
  }
  for (const bad of [2n ** 63n, -(2n ** 63n) - 1n, 1]) assert.throws(() => format(bad), refused);
  for (const id of [0n, -1n, 2n ** 63n - 1n, -(2n ** 63n), ...crypto.getRandomValues(new BigInt64Array(1000))]) {
    for (let shift = 0n; shift < 64n; shift += 7n) assert.equal(parse(format(id >> shift)), id >> shift);
  }
});

test("compose refuses what does not fit", () => {
  const cipher = new Cipher(Secret.random()), time = new Date(EPOCH * 1000), late = new Date((MAX_SECOND + 1) * 1000);
  for (const bad of [{ time: new Date(EPOCH * 1000 - 1) }, { time: late }, { time: new Date(NaN) }, { node: -1 },
    { node: 0.5 }, { node: MAX_NODE + 1 }, { sequence: MAX_SEQUENCE + 1 }]) {
    assert.throws(() => cipher.compose({ time, node: 0, sequence: 0, ...bad }), refused);
  }
});

test("secrets are read and refused", async () => {
  const text = "000102030405060708090a0b0c0d0e0f";
  for (const same of [text, text.toUpperCase(), "AAECAwQFBgcICQoLDA0ODw==", "AAECAwQFBgcICQoLDA0ODw"]) {
    assert.equal(Secret.parse(same).hex(), text);
  }
  assert.equal(Secret.parse("__79_Pv6-fj39vX08_Lx8A").hex(), Secret.parse("//79/Pv6+fj39vX08/Lx8A==").hex());
  for (const bad of ["", "0".repeat(32), text + "00", text + "\n", "AAECAwQFBgcICQoLDA0ODx", "AAECAwQFBgcICQoLDA0ODw=",
    "_/79/Pv6+fj39vX08/Lx8A", undefined]) {
    assert.throws(() => Secret.parse(bad), refused);
  }
  assert.throws(() => Secret.fromBytes(new Uint8Array(15)), refused);
  assert.throws(() => new Cipher({}), refused);
  // printf 'randflake key check value' | openssl dgst -sha256 -mac HMAC -macopt hexkey:000102030405060708090a0b0c0d0e0f
  assert.equal(await Secret.parse(text).checkValue(), "ef3df142ae69514e");
});
