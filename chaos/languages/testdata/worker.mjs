// A process that makes IDs under leases of randflaked. It notes each call as package journal does, and each ID.

import { mkdirSync, openSync, writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Generator, Secret, Service } from "../../../clients/typescript/dist/index.js";

const { JOURNAL, NAME, ADDRESSES, TOKEN, SECRET, NODES, TTL, LATE = "0" } = process.env;

mkdirSync(JOURNAL);
const [events, made] = ["events", "ids"].map((name) => openSync(`${JOURNAL}/${name}`, "a"));
let calls = 0;

function note(kind, fields) {
  writeSync(events, JSON.stringify({ at: Number(process.hrtime.bigint()), kind, ...fields }) + "\n");
}

/** Makes a call of the service, and notes its begin and its end. */
async function acquire(request) {
  const number = ++calls;
  note("call", { call: number, op: "acquire", token: request.owner, nodes: request.nodes, ttl: request.ttl });
  try {
    const { firstNode, lastNode, start, highWater } = await service.acquire(request);
    const record = { firstNode, lastNode, owner: request.owner, change: request.owner, version: 0, start, highWater, changed: 0 };
    note("return", { call: number, op: "acquire", outcome: "ok", record });
    return { ...record, highWater: highWater + Number(LATE) }; // the planted fault: that of a lease that lasts for longer
  } catch (error) {
    note("return", { call: number, op: "acquire", outcome: error.final ? "invalid" : "unknown" });
    throw error;
  }
}

async function work(generator, count) {
  const batch = new BigInt64Array(2 + count);
  for (let refused = true; !stopped; await sleep(5)) {
    try {
      const ids = batch.subarray(2);
      if (count === 1) ids[0] = generator.generate();
      else generator.fill(ids);
      batch[0] = process.hrtime.bigint();
      batch[1] = BigInt(count);
      writeSync(made, new Uint8Array(batch.buffer));
      refused = false;
    } catch (error) {
      if (!error.code) throw error;
      if (!refused) note("note", { text: `refused: lease has ended, and there is no other: ${error.message}` });
      refused = true;
    }
  }
}

let stopped = false;
process.on("SIGTERM", () => (stopped = true));
note("start", { worker: NAME, pid: process.pid });
const service = new Service(ADDRESSES.split(" "), { space: "life", token: TOKEN, timeout: 2000 });
const generator = new Generator({ service: { acquire }, secret: Secret.parse(SECRET), nodes: Number(NODES), ttl: Number(TTL) });
await Promise.all([1, 50].map((count) => work(generator, count)));
note("stop");
