// What the driver can't show: that the package can be imported and required, its types, and what prints and is thrown.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { inspect } from "node:util";
import { Generator, Minter, Secret, Service, parse } from "@randflake/client";

const require = createRequire(import.meta.url), root = join(import.meta.dirname, "..");
const digits = "dffd6021bb2bd5b0af676290809ec3a5", secret = Secret.parse(digits);

test("it can be imported and required, and has types for both without another package", async (t) => {
  assert.deepEqual(Object.keys(require("@randflake/client")).sort(), Object.keys(await import("@randflake/client")).sort());
  assert.equal(require("@randflake/client/id").parse("3vgoe12ccb8gh"), parse("3vgoe12ccb8gh"));
  const dir = mkdtempSync(join(root, "dist", "types-"));
  t.after(() => rmSync(dir, { recursive: true }));
  const use = `import { Generator, Minter, Secret, Service } from "@randflake/client";
    import { parse } from "@randflake/client/id";
    const service = new Service(["https://a", "https://b"], { space: "x", token: async () => "t", tls: { ca: "PEM" } });
    export async function use(g: Generator): Promise<bigint> {
      await g.wait(2);
      const [text]: string[] = await service.mint(), [n]: bigint[] = await service.next("c", 2);
      return g.fill(new BigInt64Array(2))[0]! + g.generate() + n! + parse(text!) + parse(await new Minter(service).generate());
    }
    export const made = Generator.open({ service, secret: Secret.parse("x"), nodes: 2, ttl: 60 }).then(use);`;
  for (const file of ["a.mts", "b.cts"]) writeFileSync(join(dir, file), use);
  const options = ["--ignoreConfig", "--strict", "--noEmit", "--types", "", "--lib", "ES2022", "--module", "NodeNext"];
  const tsc = (...files) => execFileSync(join(root, "node_modules/.bin/tsc"), [...options, ...files], { cwd: dir, encoding: "utf8" });
  tsc("a.mts", "b.cts");
  writeFileSync(join(dir, "c.cts"), `import { Secret } from "@randflake/client"; export const s: string = Secret.parse("");`);
  assert.throws(() => tsc("c.cts"), ({ stdout }) => /TS2322/.test(stdout)); // types are looked at
});

test("what browsers load needs nothing of Node", () => {
  for (const file of ["id.js", "errors.js"]) {
    const code = readFileSync(join(root, "dist", file), "utf8");
    assert.doesNotMatch(code, /\b(Buffer|process|require)\b|from "(?!\.\/errors\.js")/, file);
  }
});

test("neither errors nor the console nor JSON show a secret or a token, and errors say which replica it was", async (t) => {
  let port = 0;
  const server = createServer((_, response) => response.writeHead(401).end('{"code":"unauthenticated","message":"no hush-hush"}'));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const service = (address) => new Service(address, { space: "demo", token: "hush-hush" });
  const here = `http://127.0.0.1:${server.address().port}/`, generator = new Generator({ service: service(here), secret });
  await assert.rejects(generator.wait(), { code: "unauthenticated", final: true, message: /127.*\[token\]/ });
  await assert.rejects(service(["http://127.0.0.1:1", here]).mint(), { code: "unauthenticated", final: false });
  const all = { secret, generator, minter: new Minter(service(here)), service: service(here), error: generator.error };
  for (const shown of [inspect(all, { showHidden: true, depth: 9 }), JSON.stringify(all), `${secret}`]) {
    assert.doesNotMatch(shown, new RegExp(`hush|${digits}|223, 253`));
  }
  for (const bad of ["", "ftp://x", "x:1", "http://user:password@x", []]) {
    assert.throws(() => service(bad), ({ code, message }) => code === "invalid_argument" && !message.includes("password@"));
  }
});
