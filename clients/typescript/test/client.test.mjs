import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import * as http from "node:http";
import * as https from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test as each } from "node:test";
import { inspect, promisify } from "node:util";
import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";
import { Cipher, Generator, Minter, RandflakeError, Secret, Service } from "@randflake/client";

const secret = Secret.parse("dffd6021bb2bd5b0af676290809ec3a5"), cipher = new Cipher(secret);
const second = (id) => cipher.inspect(id).time.getTime() / 1000, now = () => Math.floor(Date.now() / 1000);

const test = isMainThread ? each : () => {};
if (!isMainThread) { // makes IDs for the test of threads
  const generator = await Generator.open({ service: new Service(workerData, { space: "demo" }), secret });
  parentPort.postMessage(generator.fill(new BigInt64Array(1000)));
}

/** Serves until the end of the test, and returns the address. What the handler returns is the answer, if anything. */
async function serve(t, handler, tls) {
  const server = (tls ? https : http).createServer(tls ?? {}, async (request, response) => {
    const answer = await handler(JSON.parse(await new Response(request).text()), request, response);
    if (answer !== undefined) response.end(JSON.stringify(answer));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => (server.closeAllConnections(), server.close()));
  return `${tls ? "https" : "http"}://127.0.0.1:${server.address().port}`;
}

/** A service in memory, which never grants a node twice. */
function grants(calls = [], node = 0) {
  return (request) => {
    calls.push(request);
    const lease = { owner: request.owner, firstNode: node, lastNode: (node += request.nodes) - 1,
      start: String(now()), highWater: String(now() + request.ttlSeconds - 1) };
    if (lease.firstNode === 0) delete lease.firstNode; // as protobuf's JSON does
    return { lease };
  };
}

/** The monotonic clock, ahead by so many seconds until the end of the test. */
function ahead(t) {
  const uptime = performance.now.bind(performance), clock = { age: 0 };
  performance.now = () => uptime() + clock.age * 1000;
  t.after(() => (performance.now = uptime));
  return clock;
}

test("a generator counts through a lease, and another one comes in time", async (t) => {
  const clock = ahead(t), calls = [];
  const service = new Service(await serve(t, grants(calls)), { space: "demo" }), made = new Set();
  const generator = new Generator({ service, secret, nodes: 2, ttl: 30 });
  const idle = () => assert.throws(() => generator.generate(), { code: "unavailable" });
  for (const bad of [new BigInt64Array(30 * 2 ** 18 + 1), [1n], new BigUint64Array(1)]) {
    assert.throws(() => generator.fill(bad), { code: "invalid_argument" });
  }
  await assert.rejects(generator.wait(0), { code: "invalid_argument" });
  assert.equal(calls.length, 0);
  idle(); // and has a lease come
  await generator.wait();
  assert.deepEqual(calls.map(({ nodes, ttlSeconds, check, retry }) => [nodes, ttlSeconds, check, retry]),
    [[2, 30, await secret.checkValue(), false]]);
  const buffer = new ArrayBuffer(8 * (2 ** 19 + 2)), target = new BigInt64Array(buffer, 8, 2 ** 19);
  assert.equal(generator.fill(target), target); // over two seconds at least
  for (const id of target) made.add(id);
  assert.equal(made.size, 2 ** 19);
  assert.deepEqual([...new BigInt64Array(buffer)].filter((id) => id === 0n).length, 2); // what is beside it
  assert.equal(second(target[2 ** 19 - 1]) - second(target[0]), 1);
  assert.ok(!made.has(generator.generate()));
  clock.age = 20; // two thirds
  const old = cipher.inspect(generator.generate()).node;
  assert.ok(old < 2);
  await generator.wait();
  for (const end = Date.now() + 60_000; cipher.inspect(generator.generate()).node < 2; ) {
    assert.ok(Date.now() < end);
    await new Promise(setImmediate);
  }
  assert.equal(calls.length, 2);
  clock.age = 60;
  idle();
  await generator.wait(30 * 2 ** 18); // a whole lease
  generator.fill(new BigInt64Array(30 * 2 ** 18 - 5));
  assert.throws(() => generator.fill(target), /no room/); // and has another lease come
  await generator.wait(2 ** 19);
  assert.ok(calls.length >= 4 && new Set(calls.map(({ owner }) => owner)).size === calls.length);
});

test("the old lease serves through an outage to its end", async (t) => {
  const clock = ahead(t), good = grants();
  let down = false;
  const address = await serve(t, (body, request) => (down ? void request.socket.destroy() : good(body)));
  const generator = await Generator.open({ service: new Service(address, { space: "demo" }), secret });
  down = true;
  for (clock.age = 199; clock.age < 299; clock.age += 10) {
    generator.generate();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assert.match(generator.error.message, /socket hang up/);
  clock.age = 300;
  assert.throws(() => generator.generate(), { code: "unavailable", message: /the lease has ended/ });
  await assert.rejects(generator.wait(), { code: "unavailable" });
  down = false;
  await generator.wait();
  assert.deepEqual([typeof generator.generate(), generator.error], ["bigint", undefined]);
});

test("a replica that hangs is left after its share, at once if it is gone, and asked last from then on", async (t) => {
  const hung = [], hangs = await serve(t, (body) => void hung.push(body)), calls = [];
  const works = await serve(t, (body) => (calls.push(body), { numbers: ["-1", "9223372036854775807"] }));
  const service = new Service([hangs, works], { space: "demo", timeout: 400 }), begin = performance.now();
  assert.deepEqual(await service.next("orders", 2), [-1n, 2n ** 63n - 1n]);
  assert.ok(performance.now() - begin > 190);
  await service.next("orders", 2);
  assert.deepEqual([hung.length, calls.length], [1, 2]);
  await new Service(["http://127.0.0.1:1", works], { space: "demo" }).next("orders", 2);
  await assert.rejects(new Service(hangs, { space: "demo", timeout: 50 }).mint(), { code: "unavailable", message: /in time/ });
  const token = () => new Promise(() => {});
  await assert.rejects(new Service(works, { space: "demo", timeout: 50, token }).mint(), { message: /in time/ });
});

test("connections are kept, and errors are typed and show neither token nor secret", async (t) => {
  let status = 200, body = "", token = "hush-hush";
  const seen = new Set(), headers = [];
  const address = await serve(t, (_, request, response) => {
    seen.add(request.socket);
    headers.push(request.url, request.headers.authorization);
    response.writeHead(status, { location: "http://127.0.0.1:1/" }).end(body);
  });
  const service = new Service(`${address}/base/`, { space: "demo", token: async () => token });
  for (const [s, b, code, final] of [
    [401, `{"code":"unauthenticated","message":"no hush-hush, ${secret.hex()}"}`, "unauthenticated", true],
    [500, `{"code":"aborted"}`, "aborted", false], [403, "<html>", "unavailable", false],
    [302, `{"ids":["1"]}`, "unavailable", false], [200, "", "unavailable", false], [200, "hush-hush", "unavailable", false],
    [200, `{"ids":[]}`, "unavailable", false], [200, `{"ids":[1,2]}`, "unavailable", false],
    [200, `{"ids":["1"],"pad":"${"x".repeat(2 ** 22)}"}`, "unavailable", false],
  ]) {
    [status, body] = [s, b];
    await assert.rejects(service.mint(), (error) => {
      assert.deepEqual([error.name, error.code, error.final], ["RandflakeError", code, final], b.slice(0, 50));
      assert.doesNotMatch(inspect(error, { showHidden: true, depth: 9 }), /hush|dffd6021/);
      return error instanceof RandflakeError;
    });
  }
  assert.deepEqual(headers.slice(0, 2), ["/base/randflake.v1.IDService/Mint", "Bearer hush-hush"]);
  assert.equal(seen.size, 1);
  token = "two\nlines";
  await assert.rejects(service.mint(), { code: "invalid_argument", message: /visible ASCII/ });
  for (const bad of ["", "ftp://x", "x:1", "http://user:password@x", []]) {
    assert.throws(() => new Service(bad, { space: "demo" }), ({ code, message }) => code === "invalid_argument" && !/password@/.test(message));
  }
  const generator = new Generator({ service, secret }), all = { secret, service, generator, cipher, minter: new Minter(service) };
  for (const shown of [inspect(all, { showHidden: true, depth: 9 }), JSON.stringify(all), `${secret}`]) {
    assert.doesNotMatch(shown, /hush|dffd6021|3\/1gIb|223, 253/);
  }
  const copy = structuredClone({ generator, secret });
  assert.ok(copy.generator.generate === undefined);
  assert.throws(() => new Cipher(copy.secret), { code: "invalid_argument" });
});

test("a minter asks ahead, and for nothing while it has enough", async (t) => {
  const clock = ahead(t), counts = [];
  let made = 0;
  const minter = new Minter({ mint: async (n) => (counts.push(n), Array.from({ length: n }, () => String(made++))) });
  const ids = new Set(await Promise.all(Array.from({ length: 383 }, () => minter.generate())));
  assert.deepEqual(counts, [512]);
  for (let i = 0; i < 600; i++) ids.add(await minter.generate());
  assert.equal(ids.size, 983);
  assert.deepEqual(counts, [512, 512, 512]);
  clock.age = 300;
  assert.ok(Number(await minter.generate()) >= 1536);
});

test("threads make different IDs, and nothing keeps a process alive", async (t) => {
  const calls = [], address = await serve(t, grants(calls));
  const threads = [1, 2, 3].map(() => new Promise((resolve, reject) =>
    new Worker(new URL(import.meta.url), { workerData: address }).once("message", resolve).once("error", reject)));
  assert.equal(new Set((await Promise.all(threads)).flatMap((ids) => [...ids])).size, 3000);
  assert.equal(new Set(calls.map(({ owner }) => owner)).size, 3);
  const program = `import { Generator, Secret, Service } from "@randflake/client";
    const generator = await Generator.open({ service: new Service("${address}", { space: "demo" }), secret: Secret.random() });
    console.log(generator.generate()); console.error(process.getActiveResourcesInfo().includes("Timeout"));`;
  const child = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program], { cwd: import.meta.dirname, timeout: 60_000 });
  assert.match(child.stdout, /^-?\d+n\n$/);
});

test("it shows its certificate, and wants a good one", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "randflake-"));
  t.after(() => rmSync(dir, { recursive: true }));
  for (const name of ["server", "client"]) {
    execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
      `/CN=${name}`, "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", `${name}.key`, "-out", `${name}.pem`], { cwd: dir, stdio: "pipe" });
  }
  const [key, cert, clientKey, clientCert] = ["server.key", "server.pem", "client.key", "client.pem"].map((name) => readFileSync(join(dir, name)));
  const address = await serve(t, () => ({ ids: ["1"] }), { key, cert, ca: clientCert, requestCert: true });
  const mint = (tls) => new Service(address, { space: "demo", tls }).mint();
  assert.deepEqual(await mint({ ca: cert, cert: clientCert, key: clientKey }), ["1"]);
  for (const tls of [{ ca: cert }, { cert: clientCert, key: clientKey }]) await assert.rejects(mint(tls), { code: "unavailable" });
});
