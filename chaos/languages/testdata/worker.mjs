// A process that makes IDs under leases of randflaked. It notes each call as package journal does, and each ID.

import { mkdirSync, openSync, writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Keeper, LostError, Secret, connect } from "../../../clients/typescript/dist/index.js";

const { JOURNAL, NAME, ADDRESSES, TOKEN, SECRET, NODES, TTL, LATE = "0" } = process.env;

mkdirSync(JOURNAL);
const [events, made] = ["events", "ids"].map((name) => openSync(`${JOURNAL}/${name}`, "a"));
let calls = 0;

function note(kind, fields) {
  writeSync(events, JSON.stringify({ at: Number(process.hrtime.bigint()), kind, ...fields }) + "\n");
}

/** Makes a call of the service, and notes its begin and its end. */
async function call(op, fields, f) {
  const number = ++calls;
  note("call", { call: number, op, ...fields });
  try {
    const record = await f();
    note("return", { call: number, op, outcome: "ok", ...(record && { record: noted(record) }) });
    return record;
  } catch (error) {
    // A release may be asked for twice, so that it finds its own doing.
    const lost = error instanceof LostError && op !== "release";
    note("return", { call: number, op, outcome: lost ? "lost" : error.definite ? "invalid" : "unknown" });
    throw error;
  }
}

function noted({ firstNode, lastNode, owner, change, start, highWater, sent }) {
  const version = Number(sent.version), changed = Number(sent.changed ?? 0);
  return { firstNode, lastNode, owner, change, version, start, highWater, changed };
}

/** The planted fault: a lease lasts a second longer than the service says. */
const late = (record) => ({ ...record, highWater: record.highWater + Number(LATE) });

const service = connect(ADDRESSES.split(" "), { space: "life", token: TOKEN });
const leases = {
  acquire: (request, signal) =>
    call("acquire", { token: request.owner, nodes: request.nodes, ttl: request.ttl }, () =>
      service.acquire(request, signal)).then(late),
  renew: (held, ttl, token, signal) =>
    call("renew", { held: noted(held), token, ttl }, () => service.renew(held, ttl, token, signal)).then(late),
  lookup: (held, signal) => call("lookup", { held: noted(held) }, () => service.lookup(held, signal)),
  release: (held, lastUsed, signal) =>
    call("release", { held: noted(held), lastUsed }, () => service.release(held, lastUsed, signal)),
};

async function work(keeper, count) {
  const batch = new BigInt64Array(2 + count);
  for (let refused; !stopped; await sleep(5)) {
    try {
      const ids = batch.subarray(2);
      if (count === 1) ids[0] = keeper.generate();
      const n = count === 1 ? 1 : keeper.fill(ids);
      batch[0] = process.hrtime.bigint();
      batch[1] = BigInt(n);
      writeSync(made, new Uint8Array(batch.buffer, 0, 8 * (2 + n)));
      refused = undefined;
    } catch (error) {
      if (!error.code) throw error;
      if (refused !== error.code) note("note", { text: `refused: ${error.message}` });
      refused = error.code;
    }
  }
}

let stopped = false;
process.on("SIGTERM", () => (stopped = true));
note("start", { worker: NAME, pid: process.pid });
let keeper;
while (!keeper && !stopped) {
  const options = { leases, secret: Secret.parse(SECRET), nodes: Number(NODES), ttl: Number(TTL) };
  keeper = await Keeper.open(options).catch((error) => console.error(error.message));
}
await Promise.all([1, 50].map((count) => work(keeper, count)));
await keeper?.close();
note("stop");
