// The driver of lab/clients/driver_test.go: reads commands as lines, answers each with a line.

import { createInterface } from "node:readline";
import { Generator, Minter, Secret, Service, format, parse } from "@randflake/client";

const { ADDRESSES, SPACE, SECRET, NODES, LIMIT, TOKEN, FAULT } = process.env;
const [now, uptime] = [Date.now, performance.now.bind(performance)];
let clock = 0, age = 0, tools;
Date.now = () => now() + clock * 1000;
performance.now = () => uptime() + age * 1000;

/** Makes all that commands need, once; a bad environment is an error of each command. */
function open() {
  if (tools) return tools;
  const addresses = ADDRESSES.split(",").slice(0, FAULT === "failover" ? 1 : undefined);
  const service = new Service(SPACE, addresses, { token: TOKEN, timeoutMs: LIMIT * 1000 });
  const secret = Secret.parse(SECRET), firstNodes = {};
  let real;
  const faulty = {
    limits: async () => ({ ...(real = await service.limits()), ...(FAULT === "end" ? { seconds: 4e9 } : {}) }),
    take: async (window, nodes) => {
      if (FAULT === "end") window = Math.floor(Date.now() / 1000 / real.seconds);
      const firstNode = await service.take(window, nodes, real.seconds);
      return FAULT === "late" ? (firstNodes[window] ??= firstNode) : firstNode;
    },
  };
  const generator = new Generator(faulty, secret, { nodes: Number(NODES) });
  return (tools = { service, secret, generator, minter: new Minter(service) });
}

async function ids(n, make) {
  const made = [];
  if (!(n >= 1)) throw Object.assign(new Error("want a whole number from 1"), { code: "invalid_argument" });
  while (made.length < n) made.push(await make());
  return made;
}

async function one() {
  await open().generator.ready();
  return tools.generator.generate();
}

const digits = (text) =>
  FAULT === "text" ? text.replace(/[0-9a-v]/g, (x) => (31 - parseInt(x, 32)).toString(32)) : text;

const commands = {
  generate: async (n) => ["ids", ...(await ids(n, one))],
  fill: async (n) => {
    await open().generator.ready(Number(n));
    return ["ids", ...tools.generator.fill(new BigInt64Array(Number(n)))];
  },
  threads: async (k, n) => ["ids", ...(await Promise.all(Array.from({ length: k }, () => ids(n, one)))).flat()],
  copy: () => {
    const made = [open().generator, tools.secret].flatMap((x) => [structuredClone(x), JSON.parse(JSON.stringify(x))]);
    return made.some((x) => x.generate || x.inspect) ? ["ok"] : ["error", "copy", "- - -", "what comes of it is of no use"];
  },
  mint: async (n) => ["ids", ...(await ids(n, () => open().minter.mint()))],
  next: async (counter, n) => {
    const { numbers, period } = await open().service.next(counter, Number(n));
    return ["numbers", ...numbers, "in", period];
  },
  format: (id) => ["text", digits(format(BigInt(id)))],
  parse: (text) => ["id", parse(digits(text))],
  inspect: (id) => {
    const { time, node, sequence } = open().secret.inspect(BigInt(id));
    return ["fields", time / 1000, node, sequence];
  },
  compose: (second, node, sequence) =>
    ["id", open().secret.compose({ time: new Date(second * 1000), node: Number(node), sequence: Number(sequence) })],
  secret: (text) => ["check", Secret.parse(text).checkValue],
  clock: (n) => ((clock = Number(n)), ["ok"]),
  age: (n) => ((age = Number(n)), ["ok"]),
};

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const [command, ...words] = line.split(" ");
  try {
    console.log((Object.hasOwn(commands, command) ? await commands[command](...words) : ["unsupported"]).join(" "));
  } catch (error) {
    const { code = "internal", reason, until, limit, message } = error;
    console.log(`error ${code} ${reason || "-"} ${until ? until / 1000 : "-"} ${limit ?? "-"} ${message.replaceAll(/\s+/g, " ")}`);
  }
}
