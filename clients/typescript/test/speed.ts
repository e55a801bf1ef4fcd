// How many a second, by the time that the processor spent: npm run speed.

import { Cipher, Generator, Secret, format, parse } from "@randflake/client";

const start = Math.floor(Date.now() / 1000);
const secret = Secret.random(),
  cipher = new Cipher(secret);
const generator = new Generator(secret, { firstNode: 0, lastNode: 131_071, start, end: start + 3600 });
const ids = new BigInt64Array(1e6);
const subjects: Record<string, () => void> = {
  fill: () => void generator.fill(ids),
  generate: () => ids.forEach((_, i) => (ids[i] = generator.generate())),
  inspect: () => ids.forEach((id) => void cipher.inspect(id)),
  format: () => ids.forEach((id) => void format(id)),
  "format and parse": () => ids.forEach((id) => void parse(format(id))),
};
for (const [name, subject] of Object.entries(subjects)) {
  const rates = Array.from({ length: 7 }, () => {
    const before = process.cpuUsage();
    subject();
    const { user, system } = process.cpuUsage(before);
    return ids.length / (user + system);
  });
  console.log(`${name}: ${rates.sort((a, b) => a - b)[3]!.toFixed(1)} million a second`);
}
