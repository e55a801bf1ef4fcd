// IDs a second of the processor's time, the best of nine rounds each: npm run speed. Ratios are those of one run.

import { Generator, Secret } from "../dist/index.js";

const start = Math.floor(Date.now() / 1000), ids = new BigInt64Array(1e6);
const service = { acquire: async () => ({ firstNode: 0, lastNode: 131_071, start, highWater: start + 299 }) };
const secret = Secret.parse("000102030405060708090a0b0c0d0e0f");
const generator = await Generator.open({ service, secret, nodes: 131_072 });
const subjects = {
  "crypto.randomUUID": (texts = []) => ids.forEach((_, i) => (texts[i & 7] = crypto.randomUUID())),
  generate: () => ids.forEach((_, i) => (ids[i] = generator.generate())),
  fill: () => generator.fill(ids),
};
let uuid;
for (const [name, subject] of Object.entries(subjects)) {
  const rates = Array.from({ length: 9 }, () => {
    const { user: before } = process.cpuUsage();
    subject();
    return (ids.length * 1e6) / (process.cpuUsage().user - before);
  });
  const rate = Math.max(...rates);
  uuid ??= rate; // which comes first
  console.log(`${name}: ${Math.round(rate)} a second, ${(rate / uuid).toFixed(2)} of randomUUID`);
}
