// How many a second, by the time that the processor spent: npm run speed. Ratios are those of one run.

import { Cipher, Generator, Secret, format, parse } from "../dist/index.js";

const start = Math.floor(Date.now() / 1000), secret = Secret.random(), cipher = new Cipher(secret);
const service = { acquire: async ({ owner }) => ({ owner, firstNode: 0, lastNode: 131_071, start, highWater: start + 299 }) };
const generator = await Generator.open({ service, secret, nodes: 131_072 });
let sum = 0;
const ids = new BigInt64Array(1e6);
const subjects = {
  "crypto.randomUUID": () => ids.forEach(() => (sum += crypto.randomUUID().length)), // or else it is not carried out
  fill: () => void generator.fill(ids),
  generate: () => ids.forEach((_, i) => (ids[i] = generator.generate())),
  inspect: () => ids.forEach((id) => void cipher.inspect(id)),
  format: () => ids.forEach((id) => void format(id)),
  "format and parse": () => ids.forEach((id) => void parse(format(id))),
};
let uuid;
for (const [name, subject] of Object.entries(subjects)) {
  const rates = Array.from({ length: 9 }, () => {
    const before = process.cpuUsage();
    subject();
    const { user, system } = process.cpuUsage(before);
    return ids.length / (user + system);
  });
  const rate = rates.sort((a, b) => a - b)[4];
  uuid ??= rate;
  console.log(`${name}: ${rate.toFixed(1)} million a second, ${(rate / uuid).toFixed(2)} of randomUUID`);
}
