// The driver of the conformance tests, ../../README.md: reads commands as lines, answers each with a line.

import { createInterface } from "node:readline";
import { deserialize, serialize } from "node:v8";
import { Cipher, EPOCH, Generator, MAX_SECOND, Minter, RandflakeError, Secret, Service, format, parse } from "../dist/index.js";

const { ADDRESSES = "", SPACE, SECRET, NODES, TTL, LIMIT = "10", TOKEN = "", FAULT = "" } = process.env;
const [now, uptime] = [Date.now, performance.now.bind(performance)];
let clock = 0, age = 0; // seconds
Date.now = () => now() + clock * 1000;
performance.now = () => (FAULT === "end" ? 0 : uptime() + age * 1000);

let generator, minter, service;
const theService = () => {
  const addresses = ADDRESSES.split(",");
  return (service ??= new Service(FAULT === "failover" ? addresses[0] : addresses, { space: SPACE, token: TOKEN, timeout: integer(LIMIT) * 1000 }));
};
const leases = {
  async acquire(request) {
    const lease = await theService().acquire(request);
    if (FAULT === "end") lease.highWater += 1_000_000;
    return FAULT === "clamp" ? { ...lease, start: EPOCH, highWater: MAX_SECOND } : lease;
  },
};
const theGenerator = () =>
  (generator ??= new Generator({ service: leases, secret: Secret.parse(SECRET), nodes: integer(NODES), ttl: integer(TTL) }));
const theMinter = () => (minter ??= new Minter(theService()));

function integer(text) {
  if (/^-?\d+$/.test(text)) return Number(text);
  throw new RandflakeError("invalid_argument", "want a whole number");
}

async function ids(n, make) {
  const made = ["ids"];
  if (n < 1) throw new RandflakeError("invalid_argument", "want a whole number from 1");
  for (let i = 0; i < n; i++) made.push(await make());
  return made;
}

async function one() {
  await theGenerator().wait();
  return generator.generate();
}

/** Whether what came of copying something is of any use. */
function works(copy) {
  try {
    return typeof copy === "object" && copy !== null && (copy.generate?.(), new Cipher(copy), true);
  } catch {
    return typeof copy.generate === "function";
  }
}

const copies = [structuredClone, (x) => deserialize(serialize(x)), (x) => JSON.parse(JSON.stringify(x))];
const digits = (text) => text.replace(/[0-9a-v]/g, (x) => (31 - parseInt(x, 32)).toString(32)); // the planted fault
const id = (text) => (/^-?\d+$/.test(text) ? BigInt(text) : text);

const commands = {
  generate: async (n) => ids(integer(n), one),
  fill: async (n) => {
    await theGenerator().wait(integer(n));
    return ["ids", ...generator.fill(new BigInt64Array(integer(n)))];
  },
  threads: async (k, n) => {
    const all = await Promise.all(Array.from({ length: integer(k) }, () => ids(integer(n), one)));
    return ["ids", ...all.flatMap(([, ...made]) => made)];
  },
  copy: async () => {
    await theGenerator().wait();
    const useful = [generator, Secret.parse(SECRET)].some((x) => copies.some((copy) => works(copy(x))));
    return useful ? ["ok"] : ["error", "copy", "what comes of it is of no use"];
  },
  mint: async (n) => ids(integer(n), async () => parse(await theMinter().generate())),
  next: async (counter, n) => ["numbers", ...(await theService().next(counter, integer(n)))],
  format: async (text) => ["text", FAULT === "text" ? digits(format(id(text))) : format(id(text))],
  parse: async (text) => ["id", parse(FAULT === "text" ? digits(text) : text)],
  inspect: async (text) => {
    const { time, node, sequence } = new Cipher(Secret.parse(SECRET)).inspect(id(text));
    return ["fields", time.getTime() / 1000, node, sequence];
  },
  compose: async (second, node, sequence) => {
    const fields = { time: new Date(integer(second) * 1000), node: integer(node), sequence: integer(sequence) };
    return ["id", new Cipher(Secret.parse(SECRET)).compose(fields)];
  },
  secret: async (text) => ["check", await Secret.parse(text).checkValue()],
  clock: async (n) => ((clock = integer(n)), ["ok"]),
  age: async (n) => ((age = integer(n)), ["ok"]),
};

for await (const line of createInterface({ input: process.stdin.setEncoding("utf8"), crlfDelay: Infinity })) {
  const [, command, rest] = /^(\S*) ?(.*)$/s.exec(line);
  const words = command === "parse" || command === "secret" ? [rest] : rest.split(" ");
  try {
    console.log((Object.hasOwn(commands, command) ? await commands[command](...words) : ["unsupported"]).join(" "));
  } catch (error) {
    console.log(`error ${error.code ?? "internal"} ${error.message.replaceAll(/\s+/g, " ")}`);
  }
}
