import assert from "node:assert/strict";
import { test } from "node:test";
import { EPOCH, Keeper, LostError, MAX_SECOND, Secret, ServiceError, type LeaseRecord } from "@randflake/client";
import { Town } from "./town.js";
import { Line, cipher, codeOf, dice, secret, settle, type Fault, type Procedure } from "./testbed.js";

const down = (): Fault => "before";
const once = (procedure: Procedure, fault: Fault) => {
  let done = false;
  return (called: Procedure): Fault => (called === procedure && !done ? ((done = true), fault) : undefined);
};

test("renews at a third of the TTL, give or take a tenth", async () => {
  const town = new Town();
  const { keeper, line } = await town.keep({ random: dice(1) });
  await town.time.pass(3600);
  const times = line.calls.slice(1).map((call) => call.at / 1000);
  assert.ok(line.calls.slice(1).every((call) => call.procedure === "renew"));
  assert.ok(times.length >= 32 && times.length <= 40, `${times}`);
  const gaps = times.slice(1).map((at, i) => at - times[i]!);
  assert.ok(
    gaps.every((gap) => gap >= 90 && gap <= 110.1),
    `${gaps}`,
  );
  assert.ok(Math.max(...gaps) - Math.min(...gaps) > 5); // jitter
  const { healthy, renewed, error } = keeper.status();
  assert.deepEqual({ healthy, renewed, error }, { healthy: true, renewed: times.length, error: undefined });
  await town.time.until(keeper.close());
  assert.deepEqual(town.log, ["info randflake: lease acquired", "info randflake: closed, lease given back"]);
});

test("rides out an outage until the lease ends, with pauses that grow, and recovers", async () => {
  const town = new Town();
  const { keeper, line, record } = await town.keep();
  line.fault = down;
  while (town.time.second() <= record().highWater) {
    keeper.generate();
    await town.time.pass(1);
  }
  assert.equal(
    codeOf(() => keeper.generate()),
    "LEASE_ENDED",
  );
  assert.equal(keeper.status().healthy, false);
  line.calls.length = 0;
  for (let i = 0; i < 3000; i++) {
    assert.equal(
      codeOf(() => keeper.generate()),
      "LEASE_ENDED",
    );
    await town.time.pass(0.1);
  }
  const attempts = line.calls.length; // of 300 s, with pauses of 50 to 75 s at last
  assert.ok(attempts >= 3 && attempts <= 8, `${attempts}`);
  line.fault = () => undefined;
  await town.time.pass(75);
  keeper.generate();
  assert.equal(keeper.status().healthy, true);
  assert.deepEqual(town.log, [
    "info randflake: lease acquired",
    "warn randflake: lease is not renewed: IDs go on until its end",
    "error randflake: no ID can be made until there is a lease for the present",
    "info randflake: lease is kept again",
  ]);
});

test("a lost answer to the acquisition costs no second lease", async () => {
  const town = new Town();
  const line = new Line(town.space, town.time);
  line.fault = once("acquire", "after");
  await town.keep({}, line);
  assert.deepEqual(line.take(), ["acquire", "acquire"]);
  assert.equal(town.space.records.length, 1);
});

test("a thousand of them neither", async () => {
  const town = new Town();
  const lines = Array.from({ length: 1000 }, () => new Line(town.space, town.time));
  for (const line of lines) line.fault = once("acquire", "after");
  await town.time.until(
    Promise.all(lines.map((leases) => Keeper.open({ leases, secret, time: town.time, logger: console }))),
  );
  assert.equal(town.space.records.length, 1000);
});

test("opening fails at once when the service refuses, and in the end when it does not answer", async () => {
  const town = new Town();
  await town.keep();
  await assert.rejects(town.keep({ secret: Secret.random() }), { status: "failed_precondition" });
  const line = new Line(town.space, town.time);
  line.fault = down;
  await assert.rejects(town.keep({}, line), ServiceError);
  line.fault = () => "hang before";
  await assert.rejects(town.keep({ ttl: 6 }, line), { status: "deadline_exceeded" });
  for (const bad of [{ nodes: 0 }, { ttl: 2 }, { ttl: 3.5 }])
    await assert.rejects(town.keep(bad), { code: "INVALID_OPTION" });
});

test("a grant that can't be used goes back, and one of another owner is refused", async () => {
  const town = new Town();
  const line = new Line(town.space, town.time);
  line.tamper = (record) => ({ ...record, highWater: MAX_SECOND + 1 });
  await assert.rejects(town.keep({}, line), { code: "INVALID_LEASE" });
  assert.deepEqual(line.take(), ["acquire", "release"]);
  line.tamper = (record) => ({ ...record, owner: "0".repeat(32) });
  await assert.rejects(town.keep({}, line), { status: "internal" });
});

test("a renewal whose answer was lost is found by its token", async () => {
  const town = new Town();
  const { keeper, line } = await town.keep();
  line.take();
  line.fault = once("renew", "after");
  await town.time.pass(120);
  assert.deepEqual(line.take(), ["renew", "lookup", "renew"]);
  const { lost, failed, healthy } = keeper.status();
  assert.deepEqual({ lost, failed, healthy }, { lost: 0, failed: 1, healthy: true });
});

test("a renewal that arrives only after the record was read back is found, too", async () => {
  const town = new Town();
  const { keeper, line } = await town.keep();
  const { renew } = line;
  let first: Parameters<typeof renew> | undefined;
  line.renew = (...args) => {
    if (!first) {
      first = args;
      return Promise.reject(new ServiceError("unavailable", "delayed"));
    }
    town.space.renew(...first);
    line.renew = renew;
    return renew(...args);
  };
  await town.time.pass(180);
  assert.deepEqual(line.take(), ["acquire", "lookup", "renew", "lookup", "renew"]);
  assert.equal(keeper.status().lost, 0);
});

test("a renewal that was read back extends the lease though no other comes through", async () => {
  const town = new Town();
  const { keeper, line } = await town.keep();
  const { end } = keeper.status().lease;
  const lost = once("renew", "after");
  line.fault = (procedure) => (procedure === "lookup" ? undefined : (lost(procedure) ?? "before"));
  await town.time.pass(130);
  assert.equal(keeper.status().lease.end, end + 100);
  assert.equal(keeper.status().renewed, 0);
});

test("a service that hangs is given up, and never called again at once", async () => {
  const town = new Town();
  const { keeper, line } = await town.keep();
  line.take();
  line.fault = () => "hang after";
  await town.time.pass(250);
  assert.equal((keeper.status().error as ServiceError).status, "deadline_exceeded");
  const n = line.take().length;
  assert.ok(n >= 3 && n <= 8, `${n}`);
});

test("a lost lease goes on to its end only where all others come later", async () => {
  for (const spared of [true, false]) {
    const town = new Town();
    const { keeper, line, record } = await town.keep();
    const held = record();
    line.fault = (procedure) => (procedure === "acquire" ? "before" : undefined);
    const others = spared ? held.highWater + 1 : held.highWater;
    line.renew = () => Promise.reject(new LostError(others, "another owner has it"));
    await town.time.pass(101);
    const { lost, frozen } = keeper.status();
    assert.deepEqual({ lost, frozen }, { lost: 1, frozen: spared ? 0 : 1 });
    for (; town.time.second() <= held.highWater; await town.time.pass(1)) {
      assert.equal(
        codeOf(() => keeper.generate()),
        spared ? "nothing" : "LEASE_ENDED",
      );
    }
    assert.equal(
      codeOf(() => keeper.generate()),
      "LEASE_ENDED",
    );
    line.fault = () => undefined;
    await town.time.pass(80);
    keeper.generate();
    await town.time.until(keeper.close());
    assert.equal(town.log.filter((text) => text.includes("lease is lost")).length, spared ? 1 : 0, town.log.join("\n"));
  }
});

test("a lease that was usurped is replaced by another one, and not released", async () => {
  const town = new Town();
  const { keeper, line, record, node } = await town.keep();
  const held = record(),
    used = node();
  town.space.usurp(town.space.records[0]!);
  const other = await town.keep(); // begins after the usurped one's end, on other nodes
  await town.time.pass(100);
  assert.deepEqual(line.take(), ["acquire", "renew", "acquire"]);
  assert.notEqual(node(), used);
  assert.notEqual(node(), other.node());
  assert.equal(town.space.records[0]!.highWater, held.highWater);
  assert.ok(town.log.includes("info randflake: lease replaced"));
  const { lost, replaced, acquired } = keeper.status();
  assert.deepEqual({ lost, replaced, acquired }, { lost: 1, replaced: 1, acquired: 2 });
});

test("of two with one lease, as after a copy of a machine, one freezes", async () => {
  for (const fault of [undefined, "after", "before"] as const) {
    const town = new Town();
    const a = await town.keep();
    const copied = a.record(),
      copy = new Line(town.space, town.time),
      { acquire, renew, lookup } = copy;
    let owner = ""; // what the copy takes for its token
    const real = (held: LeaseRecord) => (held.owner === owner ? { ...held, owner: copied.owner } : held);
    const told = (record: LeaseRecord) => (record.owner === copied.owner ? { ...record, owner } : record);
    copy.acquire = async (request) => told({ ...copied, owner: (owner = request.owner) });
    copy.renew = (held, ...rest) => renew(real(held), ...rest).then(told);
    copy.lookup = (held) => lookup(real(held)).then(told);
    const b = await town.keep({ random: () => 0.6 }, copy);
    copy.acquire = acquire;
    if (fault) a.line.fault = once("renew", fault);
    await town.time.pass(300);
    const x = a.keeper.status(),
      y = b.keeper.status();
    assert.deepEqual([x.lost + y.lost, x.frozen + y.frozen], [1, 1], `${fault}`);
    for (let i = 0; i < 600; i++, await town.time.pass(1)) assert.notEqual(a.node(), b.node());
    await town.time.until(Promise.all([a.keeper.close(), b.keeper.close()]));
  }
});

test("a clock that steps back far is helped by another lease, once for each step", async () => {
  const town = new Town();
  const { keeper, line, clock, node } = await town.keep();
  const first = node();
  town.time.now = (
    (now) => () =>
      now() - 3600_000
  )(town.time.now); // the service's, too
  assert.equal(
    codeOf(() => keeper.generate()),
    "CLOCK_BACKWARD",
  );
  assert.equal(keeper.status().healthy, false);
  await settle();
  assert.notEqual(node(), first);
  assert.deepEqual(line.take(), ["acquire", "acquire", "release"]);
  clock.skew = -3600_000; // now this clock alone: no lease starts before the service's present
  for (let i = 0; i < 100; i++) {
    assert.equal(
      codeOf(() => keeper.generate()),
      "CLOCK_BACKWARD",
    );
    await town.time.pass(1);
  }
  const calls = line.take();
  assert.ok(calls.length <= 10 && calls.length % 2 === 0, `${calls}`); // each lease goes back
  clock.skew = 0;
  await town.time.pass(80);
  assert.equal(keeper.status().replaced, 1);
  keeper.generate();
});

test("a store that lost data grants what starts later, and the old lease serves to its end", async () => {
  const town = new Town();
  const { keeper, line, record } = await town.keep();
  const { highWater } = record();
  town.space.floor = town.time.second() + 200;
  line.renew = () => Promise.reject(new LostError(town.space.floor, "older than a loss of data"));
  town.space.floor = highWater + 100;
  town.space.usurp(town.space.records[0]!);
  await town.time.pass(110);
  keeper.generate();
  await town.time.pass(200);
  assert.equal(
    codeOf(() => keeper.generate()),
    "LEASE_NOT_STARTED",
  );
  const waiting = keeper.wait();
  const id = await town.time.until(waiting);
  assert.equal(cipher.inspect(id).time.getTime() / 1000, highWater + 100);
});

test("a process that was stopped beyond the end of its lease has it renewed", async () => {
  const town = new Town();
  const { keeper, line, clock } = await town.keep();
  const before = town.time.now;
  town.time.now = () => before() + 400_000; // the clock goes on, timers don't
  assert.equal(clock.now(), before() + 400_000);
  assert.equal(
    codeOf(() => keeper.generate()),
    "LEASE_ENDED",
  );
  await settle();
  keeper.generate();
  assert.deepEqual(line.take(), ["acquire", "renew"]);
});

test("close gives back what was not used, at once, whatever it interrupts", async () => {
  const town = new Town();
  const { keeper, line, node, record } = await town.keep();
  node();
  await town.time.pass(5);
  const used = town.time.second() - 5;
  line.fault = once("release", "after");
  await town.time.until(Promise.all([keeper.close(), keeper.close()]));
  assert.equal(
    codeOf(() => keeper.generate()),
    "CLOSED",
  );
  assert.deepEqual(line.take(), ["acquire", "release", "release"]);
  assert.deepEqual(
    { owner: town.space.records[0]!.owner, highWater: town.space.records[0]!.highWater },
    { owner: "", highWater: used },
  );
  const next = await town.keep();
  assert.deepEqual([next.node(), next.record().start], [record().firstNode, town.time.second()]);

  next.line.fault = once("renew", "after"); // close in the middle of a renewal that took effect
  await town.time.pass(101);
  await town.time.until(next.keeper.close());
  assert.equal(town.space.records[0]!.owner, "");

  const deaf = await town.keep();
  deaf.line.fault = () => "hang before";
  const closed = deaf.keeper.close();
  assert.equal(
    codeOf(() => deaf.keeper.generate()),
    "CLOSED",
  );
  const from = town.time.uptime();
  await town.time.until(closed);
  assert.ok(town.time.uptime() - from < 11_000);
  assert.match(town.log.at(-1)!, /^warn .*not given back/);
});

test("wait waits for the next second, and not longer than its signal", async () => {
  const town = new Town();
  const { keeper } = await town.keep();
  const ids = new BigInt64Array(131_072);
  assert.equal(keeper.fill(ids), ids.length);
  const many = await town.time.until(Promise.all(Array.from({ length: 10 }, () => keeper.wait())));
  assert.equal(new Set([...ids, ...many]).size, ids.length + 10);
  keeper.fill(ids);
  const stop = new AbortController();
  const waiting = keeper.wait(stop.signal);
  stop.abort(new Error("enough"));
  await assert.rejects(waiting, /enough/);
  await town.time.until(keeper.close());
  await assert.rejects(keeper.wait(), { code: "CLOSED" });
});

test("the last lease of the format is not renewed", async () => {
  const town = new Town();
  const now = town.time.now;
  town.time.now = () => now() + (MAX_SECOND - 100 - EPOCH - 50_000_000) * 1000;
  const line = new Line(town.space, town.time);
  line.tamper = (record) => ({ ...record, highWater: MAX_SECOND });
  const { keeper } = await town.keep({}, line);
  await town.time.pass(100);
  keeper.generate();
  await town.time.pass(1);
  assert.equal(
    codeOf(() => keeper.generate()),
    "END_OF_LIFE",
  );
  assert.deepEqual(line.take(), ["acquire"]);
});
