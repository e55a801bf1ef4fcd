// What others see of the package: that it can be imported and required, its types, and what browsers load.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

test("it can be imported and required", async () => {
  const require = createRequire(import.meta.url);
  for (const name of ["@randflake/client", "@randflake/client/id"]) {
    const imported = await import(name), required = require(name);
    assert.deepEqual(Object.keys(required).sort(), Object.keys(imported).sort());
    assert.equal(required.format(required.parse("3vgoe12ccb8gh")), "3vgoe12ccb8gh");
    assert.notEqual(required.parse, imported.parse);
  }
});

test("its types need no other package, in either kind of module", (t) => {
  const dir = mkdtempSync(join(tmpdir(), "randflake-"));
  t.after(() => rmSync(dir, { recursive: true }));
  mkdirSync(join(dir, "node_modules/@randflake"), { recursive: true });
  symlinkSync(root, join(dir, "node_modules/@randflake/client"));
  const compilerOptions = { strict: true, noEmit: true, types: [], lib: ["ES2022"], target: "ES2022", module: "NodeNext",
    exactOptionalPropertyTypes: true, preserveSymlinks: true };
  const use = `const secret: Secret = Secret.random();
    const service = new Service(["https://a", "https://b"], { space: "x", token: async () => "t", tls: { ca: new Uint8Array() } });
    export async function f(g: Generator): Promise<bigint> {
      try { await g.wait(2); } catch (error) { if (error instanceof RandflakeError && error.code === "unavailable") throw error; }
      const array: BigInt64Array = g.fill(new BigInt64Array(2));
      const [text]: string[] = await service.mint(); const n: bigint[] = await service.next("c", 2);
      return parse(format(g.generate() + array[0]! + n[0]!)) + parse(text!) + parse(await new Minter(service).generate());
    }
    export const made: Promise<bigint> = Generator.open({ service, secret, nodes: 2, ttl: 60 }).then(f);\n`;
  const names = "Generator, Minter, RandflakeError, Secret, Service";
  writeFileSync(join(dir, "a.mts"), `import { ${names} } from "@randflake/client"; import { format, parse } from "@randflake/client/id";\n${use}`);
  writeFileSync(join(dir, "b.cts"), `import c = require("@randflake/client"); import { format, parse } from "@randflake/client/id";
    import { ${names} } from "@randflake/client"; c.parse("1");\n${use}`);
  writeFileSync(join(dir, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.mts", "*.cts"] }));
  const tsc = () => execFileSync(join(root, "node_modules/.bin/tsc"), ["-p", dir], { encoding: "utf8" });
  tsc();
  writeFileSync(join(dir, "c.cts"), `import { Secret } from "@randflake/client"; export const s: string = Secret.random();`);
  assert.throws(tsc, ({ stdout }) => /c\.cts.*TS2322/.test(stdout), "the negative control"); // types are looked at
});

test("no types or globals of Node are in the types, or in what browsers load", () => {
  for (const folder of ["dist", "cjs"]) {
    for (const name of readdirSync(join(root, folder)).filter((name) => name.endsWith(".d.ts"))) {
      assert.doesNotMatch(readFileSync(join(root, folder, name), "utf8"), /\bBuffer\b|NodeJS|"node:|AbortSignal|Agent|: URL\b/, name);
    }
  }
  const seen = new Set(["id.js"]);
  for (const file of seen) {
    const code = readFileSync(join(root, "dist", file), "utf8");
    assert.doesNotMatch(code, /\b(Buffer|process|require)\b/, file);
    for (const [, from] of code.matchAll(/(?:from|import)\s*\(?"([^"]*)"/g)) {
      assert.match(from, /^\.\//, `${file} imports ${from}`);
      seen.add(from.slice(2));
    }
  }
  assert.deepEqual([...seen].sort(), ["errors.js", "id.js", "sparx.js"]);
});
