import assert from "node:assert/strict";
import { test } from "node:test";
import { EPOCH, Generator, MAX_NODE, MAX_SECOND, type Lease } from "@randflake/client";
import { cipher, codeOf, dice, secret } from "./testbed.js";

const capacity = 131_072; // IDs of one node in one second
const start = EPOCH + 1000;
const lease: Lease = { firstNode: 5, lastNode: 5, start, end: start + 3600 };

/** A generator with a clock that is set in seconds, and which IDs it made. */
function at(second: number, under: Lease = lease) {
  const clock = { second };
  const generator = new Generator(secret, under, () => clock.second * 1000 + 999);
  const made = new Set<bigint>();
  const make = (n: number) => {
    for (let i = 0; i < n; i++) made.add(generator.generate());
  };
  return { generator, clock, made, make, second: (id: bigint) => cipher.inspect(id).time.getTime() / 1000 };
}

// What gosuda/randflake 1.8 does here: 262,143 IDs in one second, 131,071 of them repeats.
test("a second has 131,072 IDs of a node and no more, also when the lease began an hour ago", () => {
  const { generator, clock, made, make } = at(start + 3599);
  make(capacity);
  assert.equal(made.size, capacity);
  for (let i = 0; i < 3; i++)
    assert.equal(
      codeOf(() => generator.generate()),
      "EXHAUSTED",
    );
  clock.second++;
  assert.equal(
    codeOf(() => generator.generate()),
    "LEASE_ENDED",
  );
});

// Version 1.8 counts anew in the second that the clock is back at.
test("a clock that steps back by 3 s repeats nothing", () => {
  const { generator, clock, made, make, second } = at(start + 10);
  for (let round = 1; round <= 5; round++) {
    make(100);
    clock.second++;
    make(100);
    clock.second -= 3;
    make(100);
    assert.equal(made.size, 300 * round);
    clock.second += 3;
  }
  clock.second -= 3;
  assert.equal(second(generator.generate()), start + 15);
  const rest = new BigInt64Array(capacity);
  const n = generator.fill(rest);
  rest.subarray(0, n).forEach((id) => made.add(id));
  assert.equal(
    codeOf(() => generator.generate()),
    "CLOCK_BACKWARD",
  ); // not EXHAUSTED: the next second is far
  assert.equal(made.size, 300 * 5 + n);
});

test("a clock that is behind by more than 10 s is refused until it has caught up", () => {
  const { generator, clock, make } = at(start + 20);
  make(1);
  clock.second = start + 10;
  make(1);
  clock.second = start + 9;
  assert.equal(
    codeOf(() => generator.generate()),
    "CLOCK_BACKWARD",
  );
  assert.equal(generator.refusal, "CLOCK_BACKWARD");
  clock.second = start + 10;
  assert.equal(generator.refusal, undefined);
  assert.equal(generator.lastUsed, start + 20);
});

test("the embedded second lies within the lease, whatever the clock says", () => {
  const { generator, clock, make, second } = at(start - 1);
  assert.equal(
    codeOf(() => generator.generate()),
    "LEASE_NOT_STARTED",
  );
  assert.equal(generator.lastUsed, start - 1);
  clock.second = start;
  assert.equal(second(generator.generate()), start);
  clock.second = lease.end - 1;
  assert.equal(second(generator.generate()), lease.end - 1);
  for (const [now, code] of [
    [lease.end, "LEASE_ENDED"],
    [MAX_SECOND + 1, "END_OF_LIFE"],
    [NaN, "END_OF_LIFE"],
    [-Infinity, "CLOCK_BACKWARD"],
  ] as const) {
    clock.second = now;
    assert.equal(
      codeOf(() => generator.generate()),
      code,
      `${now}`,
    );
  }
  generator.extend(lease.end + 1);
  clock.second = lease.end;
  make(1);
  assert.equal(
    codeOf(() => generator.extend(lease.end)),
    "INVALID_LEASE",
  );
});

test("all nodes of the lease are used, in the highest too, up to the last second of the format", () => {
  const { generator, made } = at(MAX_SECOND, {
    firstNode: MAX_NODE - 1,
    lastNode: MAX_NODE,
    start: MAX_SECOND - 1,
    end: MAX_SECOND + 1,
  });
  const ids = new BigInt64Array(3 * capacity);
  assert.equal(generator.fill(ids), 2 * capacity);
  assert.equal(
    codeOf(() => generator.fill(ids)),
    "EXHAUSTED",
  );
  assert.equal(generator.fill(new BigInt64Array(0)), 0);
  ids.subarray(0, 2 * capacity).forEach((id) => made.add(id));
  assert.equal(made.size, 2 * capacity);
  assert.deepEqual(cipher.inspect(ids[0]!), { time: new Date(MAX_SECOND * 1000), node: MAX_NODE - 1, sequence: 0 });
  assert.deepEqual(cipher.inspect(ids[2 * capacity - 1]!), {
    time: new Date(MAX_SECOND * 1000),
    node: MAX_NODE,
    sequence: capacity - 1,
  });
});

test("another lease starts over, and shares nothing with the old one", () => {
  const { generator, clock, make } = at(start + 5);
  make(1);
  const clashing = { ...lease, start: start + 5 };
  assert.equal(
    codeOf(() => generator.replace(clashing)),
    "INVALID_LEASE",
  );
  assert.equal(generator.replace({ ...clashing, start: start + 6 }), start + 5);
  assert.equal(
    codeOf(() => generator.generate()),
    "LEASE_NOT_STARTED",
  );
  assert.equal(generator.replace({ ...lease, firstNode: 6, lastNode: 6 }), start + 5); // the one before its start
  clock.second -= 5;
  assert.deepEqual(cipher.inspect(generator.generate()), { time: new Date(start * 1000), node: 6, sequence: 0 });
});

test("freeze and close end it", () => {
  const { generator, make } = at(start + 5);
  make(1);
  generator.freeze();
  assert.equal(
    codeOf(() => generator.generate()),
    "LEASE_ENDED",
  );
  assert.equal(generator.lease.end, start + 6);
  assert.equal(
    codeOf(() => generator.extend(lease.end)),
    "LEASE_ENDED",
  );
  assert.equal(generator.replace({ ...lease, start: start + 6 }), start + 5);
  assert.equal(generator.frozen, false);
  assert.equal(generator.close(), start + 5);
  for (const f of [
    () => generator.generate(),
    () => generator.extend(lease.end),
    () => generator.replace({ ...lease, firstNode: 0 }),
  ]) {
    assert.equal(codeOf(f), "CLOSED");
  }
  generator.freeze();
  assert.equal(generator.refusal, "CLOSED");
});

test("leases that can't be are refused", () => {
  for (const bad of [
    { firstNode: 6 },
    { firstNode: -1 },
    { lastNode: MAX_NODE + 1 },
    { start: EPOCH - 1 },
    { end: start },
    { end: MAX_SECOND + 2 },
    { start: start + 0.5 },
    { lastNode: NaN },
  ]) {
    assert.equal(
      codeOf(() => new Generator(secret, { ...lease, ...bad })),
      "INVALID_LEASE",
      JSON.stringify(bad),
    );
  }
});

// The order of raw values is that of the cursor: it only grows, whatever happens.
test("property: the cursor only grows, and stays within the lease", () => {
  let made = 0;
  for (let seed = 1; seed <= 20; seed++) {
    const random = dice(seed);
    const upTo = (n: number) => Math.floor(random() * n);
    const firstNode = upTo(MAX_NODE - 2),
      under = { firstNode, lastNode: firstNode + upTo(3), start, end: start + 60 };
    const { generator, clock } = at(start, under);
    let before = -1;
    for (let i = 0; i < 300; i++) {
      clock.second = upTo(4) ? clock.second + upTo(5) - 2 : start + upTo(70) - 5;
      if (upTo(50) === 0) generator.extend(generator.lease.end + upTo(5));
      const ids = new BigInt64Array(1 + (upTo(100) ? upTo(50) : upTo(capacity)));
      let n = 0;
      codeOf(() => (n = generator.fill(ids)));
      for (const id of [ids[0]!, ids[n - 1]!].slice(0, n)) {
        const { time, node, sequence } = cipher.inspect(id);
        const second = time.getTime() / 1000;
        const place = (second - start) * 2 ** 34 + node * capacity + sequence;
        assert.ok(place > before, `seed ${seed}: ${place} after ${before}`);
        assert.ok(
          start <= second && second < generator.lease.end && under.firstNode <= node && node <= under.lastNode,
          `seed ${seed}`,
        );
        before = place;
      }
      made += n;
    }
  }
  assert.ok(made > 100_000, `${made}`);
});
