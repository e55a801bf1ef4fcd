// What the driver can't show: that the package can be imported and required, its types, and what prints and is thrown.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { inspect } from "node:util";
import * as imported from "@randflake/client";

const { Generator, LeasedGenerator, Minter, Secret, Service } = imported, root = join(import.meta.dirname, "..");

test("it can be imported and required, and has types for both that need no other package", (t) => {
  const dir = mkdtempSync(join(root, "dist", "types-"));
  t.after(() => rmSync(dir, { recursive: true }));
  const run = (program, ...words) => execFileSync(program, words, { cwd: dir, encoding: "utf8" });
  const keys = `const { format } = require("@randflake/client/id"); const all = require("@randflake/client");
    console.log(format(10n), Object.keys(all).sort().join())`;
  assert.equal(run(process.execPath, "-e", keys), `g00000000000a ${Object.keys(imported).sort().join()}\n`);
  const use = `import { Generator, Minter, Secret, Service } from "@randflake/client";
    import { parse } from "@randflake/client/id";
    const service = new Service("x", ["https://a", "https://b"], { token: async () => "t", tls: { ca: "PEM" } });
    export async function use(g: Generator): Promise<bigint> {
      await g.ready(2);
      const { numbers: [n], period }: { numbers: bigint[]; period: string } = await service.next("c", 2);
      return g.fill(new BigInt64Array(2))[0]! + n! + BigInt(period.length) + await new Minter(service).mint();
    }
    export const made = Generator.open(service, Secret.parse("x"), { nodes: 2 }).then(use);`;
  for (const file of ["a.mts", "b.cts"]) writeFileSync(join(dir, file), use);
  const options = ["--ignoreConfig", "--strict", "--noEmit", "--types", "", "--lib", "ES2022", "--module", "NodeNext"];
  const tsc = (...files) => run(join(root, "node_modules/.bin/tsc"), ...options, ...files);
  tsc("a.mts", "b.cts");
  writeFileSync(join(dir, "c.cts"), use.replace("Secret.parse", "Secret.parsed"));
  assert.throws(() => tsc("c.cts"), ({ stdout }) => /TS2551/.test(stdout)); // types are looked at
  // An ID of another kind, and a string that was not parsed, are errors, one for each line.
  writeFileSync(join(dir, "d.mts"), `import { typed, type TypedID } from "@randflake/client/id";
    const orders = typed("ord"), lines = typed("ord_line"), id: TypedID<"ord"> = orders.parse("ord_jvgoe12ccb8gh");
    export const fine: [string, bigint] = [id, orders.toBigInt(id)];
    export const line: TypedID<"ord_line"> = id;
    export const text: TypedID<"ord"> = "ord_jvgoe12ccb8gh";
    lines.toBigInt(id);`);
  assert.throws(() => tsc("d.mts"), ({ stdout }) => {
    assert.deepEqual(stdout.match(/\(\d+,/g), ["(4,", "(5,", "(6,"], stdout);
    return true;
  });
  // What browsers load needs nothing of Node.
  const code = ["id.js", "errors.js"].map((file) => readFileSync(join(root, "dist", file), "utf8")).join();
  assert.doesNotMatch(code, /\b(Buffer|process|require)\b|from "(?!\.\/errors\.js")/);
});

test("typed IDs have a prefix, and no other text is one", () => {
  const orders = imported.typed("ord");
  const text = "jvgoe12ccb8gh";
  for (const [id, digits] of [[0n, "g000000000000"], [-1n, "vvvvvvvvvvvvv"], [4594531474933654033n, text]]) {
    assert.equal(orders.format(id), `ord_${digits}`);
    assert.equal(orders.parse(`ord_${digits}`), `ord_${digits}`);
    assert.equal(orders.toBigInt(`ord_${digits}`), id);
  }
  const others = ["", "_", "-", "ord", "ORD_", "cus_", "ord_line_", "ord__", " ord_"].map((prefix) => prefix + text);
  for (const bad of [...others, "", "ord", "ord_", "ord_10", `ord_${text} `, `ord_${text}\n`, 10n, null]) {
    assert.throws(() => orders.parse(bad), { code: "invalid_argument" }, String(bad));
  }
  for (const bad of [undefined, null, "", "_", "a_", "9", "A", "a-b", "a".repeat(64)]) {
    assert.throws(() => imported.typed(bad), { code: "invalid_argument" }, bad);
  }
});

test("a lease that is given by hand holds", (t) => {
  const secret = Secret.parse("dffd6021bb2bd5b0af676290809ec3a5"), start = 1_800_000_000;
  const generator = new LeasedGenerator({ node: 7, start, end: start + 60 }, secret);
  t.mock.timers.enable({ apis: ["Date"], now: start * 1000 });
  for (const [clock, after, sequence] of [[0, 0, 0], [0, 0, 1], [59.9, 59, 0], [0, 59, 1]]) {
    t.mock.timers.setTime((start + clock) * 1000);
    assert.deepEqual(secret.inspect(generator.generate()), { time: new Date((start + after) * 1000), node: 7, sequence });
  }
  for (const clock of [-1, 60]) {
    t.mock.timers.setTime((start + clock) * 1000);
    assert.throws(() => generator.generate(), { code: "invalid_argument", message: /want a lease/ });
  }
  for (const [node, begin, end] of [[2 ** 17, start, start + 1], [1, 1_729_999_999, start], [1, start, start]]) {
    assert.throws(() => new LeasedGenerator({ node, start: begin, end }, secret), { code: "invalid_argument" });
  }
});

test("an answer without a message is told by its status", async () => {
  const server = createServer((_, response) => response.writeHead(502).end("<html>")).unref();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const service = new Service("demo", `http://127.0.0.1:${server.address().port}`);
  await assert.rejects(service.next("c"), { code: "unavailable", message: /HTTP status 502$/ });
});

test("neither errors nor the console nor JSON show a secret or a token", async () => {
  const answer = '{"code":"unauthenticated","message":"no hush-hush"}';
  const server = createServer((_, response) => response.writeHead(401).end(answer)).unref();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const open = (address) => new Service("demo", address, { token: "hush-hush" });
  const address = `http://127.0.0.1:${server.address().port}/`, service = open(address);
  const secret = Secret.parse("dffd6021bb2bd5b0af676290809ec3a5"), generator = new Generator(service, secret);
  await assert.rejects(generator.ready(), { code: "unauthenticated", message: /127.*\[token\]/ });
  const all = { secret, generator, service, minter: new Minter(service), error: generator.error };
  const shown = inspect(all, { showHidden: true, depth: 9 }) + JSON.stringify(all) + secret;
  assert.doesNotMatch(shown, /hush|dffd6021|223, 253/);
  for (const bad of ["", "ftp://x", "x:1", "http://user:password@x", []]) {
    assert.throws(() => open(bad), { code: "invalid_argument", message: /^[^@]*$/ });
  }
});
