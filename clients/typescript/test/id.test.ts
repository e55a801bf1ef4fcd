import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { inspect } from "node:util";
import * as id from "@randflake/client/id";
import { Cipher, EPOCH, MAX_NODE, MAX_SECOND, MAX_SEQUENCE, Secret, format, parse } from "@randflake/client/id";
import { Generator, Keeper } from "@randflake/client";
import { Sparx } from "../dist/sparx.js";
import { Line, Space, VirtualTime, codeOf, secret } from "./testbed.js";

const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");
const vectors = (name: string) => JSON.parse(read(`../../../testdata/${name}`));
const bytes = (hex: string) => Uint8Array.from(Buffer.from(hex, "hex"));

/** Blocks of the vectors are bytes in order, the values of Sparx little-endian. */
const block = (hex: string) => Buffer.from(hex, "hex").readBigUInt64LE();
const encrypt = (sparx: Sparx, value: bigint) =>
  BigInt.asUintN(64, sparx.encrypt(Number(value >> 32n), Number(value & 0xffff_ffffn)));
const decrypt = (sparx: Sparx, value: bigint) => sparx.decrypt(BigInt.asIntN(64, value));

test("vectors of the cipher", () => {
  const { vectors: all } = vectors("sparx64.json");
  assert.ok(all.length > 200);
  for (const { key, plaintext, ciphertext } of all) {
    const sparx = new Sparx(bytes(key));
    assert.equal(encrypt(sparx, block(plaintext)), block(ciphertext));
    assert.equal(decrypt(sparx, block(ciphertext)), block(plaintext));
  }
});

test("chain of the cipher", () => {
  const { key, plaintext, ciphertext, iterations } = vectors("sparx64.json").chain;
  const sparx = new Sparx(bytes(key));
  let value = block(plaintext);
  for (let i = 0; i < iterations; i++) value = encrypt(sparx, value);
  assert.equal(value, block(ciphertext));
  for (let i = 0; i < iterations; i++) value = decrypt(sparx, value);
  assert.equal(value, block(plaintext));
});

test("vectors of the format", () => {
  const { vectors: all } = vectors("randflake.json");
  assert.ok(all.length > 100);
  let zero = 0;
  for (const { secret, timestamp, node, sequence, raw, id, text } of all) {
    assert.equal(BigInt.asIntN(64, encrypt(new Sparx(bytes(secret)), BigInt(raw))), BigInt(id));
    assert.equal(format(BigInt(id)), text);
    assert.equal(parse(text), BigInt(id));
    if (/^0+$/.test(secret)) {
      zero++;
      continue; // no Secret
    }
    const cipher = new Cipher(Secret.parse(secret));
    const fields = { time: new Date(timestamp * 1000), node, sequence };
    assert.equal(cipher.compose(fields), BigInt(id));
    assert.deepEqual(cipher.inspect(BigInt(id)), fields);
    if (sequence > 100) continue; // a generator takes long to get there
    const lease = { firstNode: node, lastNode: node, start: timestamp, end: timestamp + 1 };
    const generator = new Generator(Secret.parse(secret), lease, () => timestamp * 1000);
    generator.fill(new BigInt64Array(sequence)); // up to that place
    assert.equal(generator.generate(), BigInt(id));
  }
  assert.ok(zero < 10);
});

test("text is strict, and every ID has one", () => {
  for (const bad of ["", "g000000000000", "00", "0a", "A", "w", "-1", " 1", "1 ", "1\n", "1=", "10000000000000", "ü"]) {
    assert.equal(
      codeOf(() => parse(bad)),
      "INVALID_ID",
      bad,
    );
  }
  assert.equal(
    codeOf(() => parse(12 as unknown as string)),
    "INVALID_ID",
  );
  for (const [value, text] of [
    [0n, "0"],
    [31n, "v"],
    [-1n, "fvvvvvvvvvvvv"],
    [2n ** 63n - 1n, "7vvvvvvvvvvvv"],
    [-(2n ** 63n), "8000000000000"],
  ] as const) {
    assert.equal(format(value), text);
    assert.equal(parse(text), value);
  }
  for (const value of crypto.getRandomValues(new BigInt64Array(1000))) {
    for (let shift = 0n; shift < 64n; shift += 7n) assert.equal(parse(format(value >> shift)), value >> shift);
  }
  for (const bad of [2n ** 63n, -(2n ** 63n) - 1n, 1 as unknown as bigint])
    assert.equal(
      codeOf(() => format(bad)),
      "INVALID_ID",
    );
});

test("compose refuses what does not fit", () => {
  const cipher = new Cipher(secret);
  const good = { time: new Date(EPOCH * 1000), node: 0, sequence: 0 };
  for (const bad of [
    { time: new Date(EPOCH * 1000 - 1) },
    { time: new Date(NaN) },
    { node: -1 },
    { node: 0.5 },
    { node: MAX_NODE + 1 },
    { sequence: MAX_SEQUENCE + 1 },
  ]) {
    assert.equal(
      codeOf(() => cipher.compose({ ...good, ...bad })),
      "INVALID_ID",
      JSON.stringify(bad),
    );
  }
  assert.equal(
    codeOf(() => cipher.compose({ ...good, time: new Date((MAX_SECOND + 1) * 1000) })),
    "END_OF_LIFE",
  );
});

test("secrets are read and refused", async () => {
  const text = "000102030405060708090a0b0c0d0e0f";
  for (const same of [text, text.toUpperCase(), "AAECAwQFBgcICQoLDA0ODw==", "AAECAwQFBgcICQoLDA0ODw"])
    assert.equal(Secret.parse(same).hex(), text);
  assert.equal(Secret.parse("__79_Pv6-fj39vX08_Lx8A").hex(), Secret.parse("//79/Pv6+fj39vX08/Lx8A==").hex());
  for (const bad of [
    "",
    "0".repeat(32),
    text + "00",
    text + "\n",
    "AAECAwQFBgcICQoLDA0ODx",
    "AAECAwQFBgcICQoLDA0ODw=",
    "_/79/Pv6+fj39vX08/Lx8A",
  ]) {
    assert.equal(
      codeOf(() => Secret.parse(bad)),
      "INVALID_SECRET",
      bad,
    );
  }
  assert.equal(
    codeOf(() => Secret.fromBytes(new Uint8Array(15))),
    "INVALID_SECRET",
  );
  assert.notEqual(Secret.random().hex(), Secret.random().hex());
  // printf 'randflake key check value' | openssl dgst -sha256 -mac HMAC -macopt hexkey:000102030405060708090a0b0c0d0e0f
  assert.equal(await Secret.parse(text).checkValue(), "ef3df142ae69514e");
});

test("nothing shows the secret", async () => {
  const time = new VirtualTime();
  const keeper = await Keeper.open({ leases: new Line(new Space(time.second), time), secret, time, logger: silent });
  const generator = new Generator(secret, { firstNode: 0, lastNode: 0, start: EPOCH, end: EPOCH + 1 });
  const all = { secret, keeper, generator, cipher: generator.cipher, status: keeper.status() };
  const shown = [
    inspect(all, { showHidden: true, depth: 9 }),
    String(secret),
    JSON.stringify([secret, keeper, generator]),
    inspect(structuredClone({ ...secret })),
  ];
  for (const bad of [secret.hex().slice(1), secret.hex() + "!"])
    shown.push(inspect(messageOf(() => Secret.parse(bad))));
  const { 0: first, 1: second } = bytes(secret.hex());
  for (const text of shown) {
    assert.doesNotMatch(text, /dffd6021|3_1gIb|3\/1gIb/i);
    assert.ok(!text.includes(`${first}, ${second}`));
  }
  await keeper.close();
});

const silent = { info: () => {}, warn: () => {}, error: () => {} };

function messageOf(f: () => unknown): unknown {
  try {
    return f();
  } catch (error) {
    return error;
  }
}

// tsc checks the globals (tsconfig.id.json), and this the imports.
test("the part for browsers imports nothing of Node", () => {
  const seen = new Set<string>();
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const [, from] of read(`../dist/${file}`).matchAll(/(?:from|import)\s*\(?"([^"]*)"/g)) {
      assert.match(from!, /^\.\//, `${file} imports ${from}`);
      visit(from!.slice(2));
    }
  };
  visit("id.js");
  assert.ok(seen.has("sparx.js") && seen.size <= 5, [...seen].join());
  assert.ok(!("Keeper" in id));
});
