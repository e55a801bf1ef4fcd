import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import * as http from "node:http";
import * as https from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { inspect } from "node:util";
import { Worker } from "node:worker_threads";
import { Keeper, LostError, ServiceError, connect, type LeaseRecord } from "@randflake/client";
import { Judge, Line, Space, VirtualTime, codeOf, secret } from "./testbed.js";

type Json = Record<string, any>;
type Handler = (procedure: string, body: Json, request: http.IncomingMessage, response: http.ServerResponse) => unknown;

const time = { now: Date.now, second: () => Math.floor(Date.now() / 1000) };
const never = new AbortController().signal;
const request = { nodes: 1, ttl: 300, owner: "a".repeat(32), check: "" };

/** Serves until the end of the test, and returns the address. What the handler returns is the answer, if anything. */
async function serve(t: TestContext, handler: Handler, tls?: https.ServerOptions): Promise<string> {
  const listener = async (request: http.IncomingMessage, response: http.ServerResponse) => {
    const body = await new Response(request as unknown as ReadableStream).text();
    const answer = handler(
      request.url!.replace(/^.*\//, ""),
      JSON.parse(body),
      request,
      response,
    );
    if (answer !== undefined) response.end(JSON.stringify(answer));
  };
  const server = tls ? https.createServer(tls, listener) : http.createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => (server.closeAllConnections(), server.close()));
  return `${tls ? "https" : "http"}://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** By protobuf's JSON mapping: 64-bit integers are strings, and zeros are left out. */
function toJson({ firstNode, lastNode, owner, change, start, highWater, sent }: LeaseRecord): Json {
  const version = `${sent["version"]}`;
  const all = { firstNode, lastNode, owner, change, version, start: `${start}`, highWater: `${highWater}`, signature: version };
  return Object.fromEntries(Object.entries(all).filter(([, v]) => v && v !== "0"));
}

/** Reads what came back, which must be all of it. */
function fromJson(json: Json): LeaseRecord {
  for (const name of ["version", "start", "highWater", "signature"]) assert.equal(typeof json[name], "string", name);
  const n = (name: string) => Number(json[name] ?? 0);
  return {
    firstNode: n("firstNode"),
    lastNode: n("lastNode"),
    owner: json["owner"],
    change: json["change"],
    start: n("start"),
    highWater: n("highWater"),
    sent: { version: n("signature") },
  };
}

/** What randflaked answers. */
function answer(space: Space, procedure: string, body: Json, response: http.ServerResponse): Json {
  assert.equal(body["space"], "demo");
  try {
    switch (procedure) {
      case "Acquire":
        return {
          lease: toJson(
            space.acquire({
              nodes: body["nodes"],
              ttl: body["ttlSeconds"],
              owner: body["owner"],
              check: body["check"],
            }),
          ),
        };
      case "Renew":
        return { lease: toJson(space.renew(fromJson(body["held"]), body["ttlSeconds"], body["token"])) };
      case "Lookup":
        return { lease: toJson(space.lookup(fromJson(body["held"]))) };
      default:
        return (space.release(fromJson(body["held"]), Number(body["lastUsed"])), {});
    }
  } catch (error) {
    if (error instanceof LostError) return { lost: { others: `${error.others}`, why: "taken" } };
    response.statusCode = 429;
    return { code: (error as ServiceError).status, message: (error as Error).message };
  }
}

test("speaks the protocol", async (t) => {
  const space = new Space(time.second);
  const seen: http.IncomingMessage[] = [];
  const address = await serve(
    t,
    (procedure, body, request, response) => (seen.push(request), answer(space, procedure, body, response)),
  );
  let token = "first";
  const leases = connect(`${address}/base/`, { space: "demo", token: async () => token });
  const held = await leases.acquire(request, never);
  assert.deepEqual(held.sent, toJson(space.records[0]!));
  token = "second";
  const renewed = await leases.renew(held, 400, "b".repeat(32), never);
  assert.equal(renewed.highWater, space.records[0]!.highWater);
  assert.deepEqual(await leases.lookup(held, never), renewed);
  await assert.rejects(
    leases.renew(held, 400, "c".repeat(32), never),
    (error: LostError) => error instanceof LostError && error.others === held.start,
  );
  space.ranges = 1;
  await assert.rejects(leases.acquire({ ...request, owner: "d".repeat(32) }, never), {
    status: "resource_exhausted",
    definite: true,
  });
  await leases.release(renewed, renewed.start, never);
  await assert.rejects(leases.release(renewed, renewed.start, never), LostError);
  await assert.rejects(leases.lookup(renewed, never), LostError);
  const { url, method, headers } = seen[1]!;
  assert.deepEqual(
    [url, method, headers["content-type"], headers["connect-protocol-version"], headers.authorization],
    ["/base/randflake.v1.LeaseService/Renew", "POST", "application/json", "1", "Bearer second"],
  );
});

test("has IDs minted and counters counted", async (t) => {
  let answer: Json = { ids: ["0", "3vgoe12ccb8gh"] };
  const seen: Json[] = [];
  const address = await serve(t, (procedure, body) => (seen.push({ procedure, ...body }), answer));
  const service = connect(address, { space: "demo" });
  assert.deepEqual(await service.mint(2), ["0", "3vgoe12ccb8gh"]);
  answer = { numbers: ["-1", "9223372036854775807"] };
  assert.deepEqual(await service.next("orders"), [-1n, 2n ** 63n - 1n]);
  assert.deepEqual(seen, [
    { procedure: "Mint", space: "demo", count: 2 },
    { procedure: "Next", counter: "orders", count: 1 },
  ]);
  for (answer of [{}, { ids: [], numbers: [] }, { ids: [1], numbers: ["1.5"] }]) {
    await assert.rejects(service.mint(), { status: "internal" });
    await assert.rejects(service.next("orders"), { status: "internal" });
  }
});

test("errors are typed, and malformed answers have an unknown outcome", async (t) => {
  let status = 200,
    body = "";
  const address = await serve(t, (_procedure, _body, _request, response) => void response.writeHead(status).end(body));
  const leases = connect(address, { space: "demo", token: "hush-hush" });
  for (const [s, b, code, definite] of [
    [401, `{"code":"unauthenticated","message":"no"}`, "unauthenticated", true],
    [403, "<html>", "permission_denied", true],
    [404, "", "unimplemented", true],
    [503, "", "unavailable", false],
    [500, `{"code":"aborted"}`, "aborted", false],
    [302, "", "unknown", false],
    [200, "", "unknown", false],
    [200, "[1]", "internal", false],
    [200, `{"lease":{"firstNode":"x"}}`, "internal", false],
    [200, `{"lease":{"owner":"x"}}`, "internal", false],
    [200, `{"lost":{"others":"1.5"}}`, "internal", false],
    [200, `{"lease":{"pad":"${"x".repeat(2 ** 22)}"}}`, "unavailable", false],
  ] as const) {
    [status, body] = [s, b];
    await assert.rejects(leases.acquire(request, never), (error: ServiceError) => {
      assert.deepEqual(
        [error.code, error.status, error.definite],
        ["SERVICE", code, definite],
        `${s} ${b.slice(0, 50)}`,
      );
      assert.doesNotMatch(inspect(error, { depth: 9 }), /hush/);
      return true;
    });
  }
  [status, body] = [200, `{"lost":{}}`];
  await assert.rejects(leases.acquire(request, never), (error: LostError) => error.others === 0);
  for (const bad of ["", "ftp://x", "x:1", "http://user:password@x"])
    assert.equal(
      codeOf(() => connect(bad, { space: "demo" })),
      "INVALID_OPTION",
      bad,
    );
  assert.equal(
    codeOf(() => connect([], { space: "demo" })),
    "INVALID_OPTION",
  );
});

test("goes on to another replica, and repeats no renewal that may have taken effect", async (t) => {
  const space = new Space(time.second);
  const calls = [0, 0];
  let broken = false;
  const [a, b] = await Promise.all(
    [0, 1].map((i) =>
      serve(t, (procedure, body, request, response) => {
        calls[i]!++;
        const all = answer(space, procedure, body, response);
        if (i === 0 && broken) return void request.socket.destroy(); // the answer is lost
        return all;
      }),
    ),
  );
  const gone = "http://127.0.0.1:1";
  const leases = connect([gone, a!, b!], { space: "demo" });
  const held = await leases.acquire(request, never); // gone, then a
  broken = true;
  await assert.rejects(leases.renew(held, 300, "b".repeat(32), never), { status: "unavailable" });
  assert.deepEqual(calls, [2, 0]);
  assert.equal((await leases.lookup(held, never)).change, "b".repeat(32)); // b
  await connect([a!, b!], { space: "demo" }).acquire({ ...request, owner: "c".repeat(32) }, never); // a, then b
  assert.deepEqual(calls, [3, 2]);
  assert.equal(space.records.length, 2);
  const now = await leases.lookup(held, never);
  const renewed = await connect([gone, b!], { space: "demo" }).renew(now, 300, "d".repeat(32), never);
  assert.equal(renewed.sent["version"], "3");
  await assert.rejects(connect(gone, { space: "demo" }).acquire(request, never), { status: "unavailable" });
});

test("an aborted call ends at once", async (t) => {
  const address = await serve(t, () => undefined);
  const stop = new AbortController();
  const call = connect([address, address], { space: "demo" }).acquire(request, stop.signal);
  setTimeout(() => stop.abort(), 20);
  await assert.rejects(call, ServiceError);
});

test("shows its certificate, and wants a good one", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "randflake-"));
  t.after(() => rmSync(dir, { recursive: true }));
  const openssl = (...args: string[]) => execFileSync("openssl", args, { cwd: dir, stdio: "pipe" });
  for (const name of ["server", "client"]) {
    openssl(
      "req",
      "-x509",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:P-256",
      "-nodes",
      "-days",
      "2",
      "-subj",
      `/CN=${name}`,
      "-addext",
      "subjectAltName=IP:127.0.0.1",
      "-keyout",
      `${name}.key`,
      "-out",
      `${name}.pem`,
    );
  }
  const [key, cert, clientKey, clientCert] = ["server.key", "server.pem", "client.key", "client.pem"].map((name) =>
    readFileSync(join(dir, name)),
  );
  const space = new Space(time.second);
  const address = await serve(t, (procedure, body, _request, response) => answer(space, procedure, body, response), {
    key,
    cert,
    ca: clientCert,
    requestCert: true,
    rejectUnauthorized: true,
  });
  const good = { ca: cert!, cert: clientCert!, key: clientKey! };
  assert.equal((await connect(address, { space: "demo", tls: good }).acquire(request, never)).firstNode, 0);
  for (const tls of [{ ca: cert! }, { cert: clientCert!, key: clientKey! }]) {
    await assert.rejects(connect(address, { space: "demo", tls }).acquire(request, never), { status: "unavailable" });
  }
  assert.equal(space.records.length, 1);
});

test("threads and tasks make different IDs, though each first answer is lost", async (t) => {
  const space = new Space(time.second);
  const owners = new Set<string>();
  const address = await serve(t, (procedure, body, request, response) => {
    const lost = procedure === "Acquire" && !owners.has(body["owner"]);
    const all = answer(space, procedure, body, response);
    owners.add(body["owner"]);
    return lost ? void request.socket.destroy() : all;
  });
  const workerData = { address, secret: secret.hex(), count: 20_000 };
  const threads = Array.from({ length: 3 }, () => new Worker(new URL("worker.js", import.meta.url), { workerData }));
  const made = threads.map(
    (worker) => new Promise<BigInt64Array>((resolve, reject) => worker.once("message", resolve).once("error", reject)),
  );
  const keeper = await Keeper.open({ leases: connect(address, { space: "demo" }), secret });
  const tasks = Array.from({ length: 100 }, async () => {
    const ids: bigint[] = [];
    for (let i = 0; i < 100; i++) ids.push(await keeper.wait());
    return ids;
  });
  const all = [...(await Promise.all(made)).flatMap((ids) => [...ids]), ...(await Promise.all(tasks)).flat()];
  await keeper.close();
  assert.equal(new Set(all).size, 70_000);
  const judge = new Judge();
  assert.match(judge.see(all[0]!, new Line(space, new VirtualTime())) ?? "", /not covered/);
  assert.equal(space.records.length, 4);
  assert.ok(space.records.every((record) => !record.owner && record.highWater <= time.second()));
});
