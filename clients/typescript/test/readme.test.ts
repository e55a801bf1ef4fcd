import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Cipher, Keeper, Secret, connect, format, parse } from "@randflake/client";
import { Line, Space, secret } from "./testbed.js";

// The first program of README.md, on a service in memory.
test("the first program works", async () => {
  const [, program] = /```ts\n([^]*?)```/.exec(readFileSync(new URL("../README.md", import.meta.url), "utf8"))!;
  const printed: unknown[] = [];
  const [imports, ...body] = program!.replace("!)", ")").split("\n");
  assert.match(imports!, /^import \{ Keeper, Secret, connect, format \} from "@randflake\/client";$/);
  const time = { now: Date.now, uptime: Date.now, sleep: () => new Promise<void>(() => {}) };
  const space = new Space(() => Math.floor(Date.now() / 1000));
  const fake = (...args: Parameters<typeof connect>) => (connect(...args), new Line(space, time));
  const AsyncFunction = (async () => {}).constructor as FunctionConstructor;
  const run = AsyncFunction("Keeper", "Secret", "connect", "format", "console", "process", body.join("\n"));
  const env = { RANDFLAKE_SECRET: secret.hex() };
  await run(Keeper, Secret, fake, format, { log: (text: unknown) => printed.push(text) }, { env });
  const [text, fields] = printed;
  assert.deepEqual(new Cipher(secret).inspect(parse(text as string)), fields);
  assert.equal(space.records[0]!.owner, "");
});
