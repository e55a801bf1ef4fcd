// IDs a second of the processor's time, the best of nine rounds each: npm run speed. Ratios are those of one run.

import { Generator, Secret } from "../dist/index.js";

const ids = new BigInt64Array(1e6);
const service = { limits: async () => ({ seconds: 3600, ahead: 5, check: "" }), take: async () => 0 };
const generator = await Generator.open({ service, secret: Secret.parse("01".repeat(16)), nodes: 131_072 });
const subjects = {
  "crypto.randomUUID": (texts = []) => ids.forEach((_, i) => (texts[i & 7] = crypto.randomUUID())),
  generate: () => ids.forEach((_, i) => (ids[i] = generator.generate())),
  fill: () => generator.fill(ids),
};
let uuid;
for (const [name, subject] of Object.entries(subjects)) {
  const rate = Math.max(...Array.from({ length: 9 }, () => {
    const { user: before } = process.cpuUsage();
    subject();
    return (ids.length * 1e6) / (process.cpuUsage().user - before);
  }));
  uuid ??= rate; // which comes first
  console.log(`${name}: ${Math.round(rate)} a second, ${(rate / uuid).toFixed(2)} of randomUUID`);
}
