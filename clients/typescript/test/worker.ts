// One of several threads that make IDs, each with a keeper of its own.

import { parentPort, workerData } from "node:worker_threads";
import { Keeper, Secret, connect } from "@randflake/client";

const { address, secret, count } = workerData as { address: string; secret: string; count: number };
const leases = connect(address, { space: "demo" });
const keeper = await Keeper.open({ leases, secret: Secret.parse(secret) });
const ids = new BigInt64Array(count);
for (let i = 0; i < count; i += 2) {
  ids[i] = await keeper.wait();
  ids[i + 1] = await keeper.wait();
}
await keeper.close();
parentPort!.postMessage(ids);
