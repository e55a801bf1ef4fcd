// IDs a second of the processor's time, each the best of nine rounds: npm run speed. Ratios are those of one run.

import { Generator, Secret } from "../dist/index.js";

const start = Math.floor(Date.now() / 1000), ids = new BigInt64Array(1e6);
const service = { acquire: async () => ({ firstNode: 0, lastNode: 131_071, start, highWater: start + 299 }) };
const generator = await Generator.open({ service, secret: Secret.parse("000102030405060708090a0b0c0d0e0f"), nodes: 131_072 });
let sum = 0; // or else randomUUID is not carried out

function rate(subject) {
  const before = process.cpuUsage();
  subject();
  const { user, system } = process.cpuUsage(before);
  return (ids.length / (user + system)) * 1e6;
}
const best = (subject) => Math.max(...Array.from({ length: 9 }, () => rate(subject)));
const uuid = best(() => ids.forEach(() => (sum += crypto.randomUUID().length)));
const rates = { fill: best(() => generator.fill(ids)), generate: best(() => ids.forEach((_, i) => (ids[i] = generator.generate()))) };
console.log(`crypto.randomUUID: ${Math.round(uuid)} a second`);
for (const [name, n] of Object.entries(rates)) console.log(`${name}: ${Math.round(n)} a second, ${(n / uuid).toFixed(2)} of randomUUID`);
