import assert from "node:assert/strict";
import { test } from "node:test";
import { Keeper } from "@randflake/client";
import { Town } from "./town.js";
import { Judge, Line, Skewed, codeOf, dice, secret } from "./testbed.js";

/** Has four services make IDs for hours, with faults and clocks that step. Returns what is wrong, and what happened. */
async function simulate(seed: number, tamper?: Line["tamper"]) {
  await secret.checkValue();
  const random = dice(seed);
  const upTo = (n: number) => Math.floor(random() * n);
  const town = new Town();
  const judge = new Judge();
  const sum = { ids: 0, refusals: 0, lost: 0, replaced: 0, failed: 0, renewed: 0, frozen: 0 };
  const places = Array.from({ length: 4 }, () => {
    const clock = new Skewed(town.time);
    const line = new Line(town.space, clock);
    line.fault = () =>
      upTo(100) < bad ? (["before", "after", "hang before", "hang after"] as const)[upTo(4)] : undefined;
    if (tamper) line.tamper = tamper;
    return { clock, line, keeper: undefined as Keeper | undefined };
  });
  const note = (keeper: Keeper) => {
    const { lost, replaced, renewed, frozen, failed } = keeper.status();
    for (const [what, n] of Object.entries({ lost, replaced, renewed, frozen, failed }))
      sum[what as keyof typeof sum] += n;
  };
  let bad = 0;
  for (let step = 0; step < 2500; step++) {
    const place = places[upTo(4)]!;
    if (upTo(40) === 0) bad = [0, 0, 10, 50, 100][upTo(5)]!;
    if (upTo(60) === 0) place.clock.skew = upTo(3) ? 0 : (upTo(2) ? upTo(40) - 20 : upTo(7200) - 3600) * 1000;
    if (upTo(60) === 0 && town.space.records.length) {
      const taken = town.space.records[upTo(town.space.records.length)]!;
      if (taken.owner) town.space.usurp(taken);
    }
    if (!place.keeper) {
      const { clock: time, line: leases } = place;
      const opened = Keeper.open({
        leases,
        secret,
        time,
        ttl: 3 + upTo(upTo(2) ? 10 : 300),
        nodes: 1 + upTo(3),
        random,
        logger: silent,
      });
      place.keeper = await town.time.until(opened).catch(() => undefined);
    } else if (upTo(200) === 0) {
      await town.time.until(place.keeper.close());
      note(place.keeper);
      place.keeper = undefined;
    } else {
      // So few that the same sequence numbers come up each second.
      const ids = new BigInt64Array(1 + upTo(4));
      let n = 0;
      if (codeOf(() => (n = place.keeper!.fill(ids))) !== "nothing") sum.refusals++;
      sum.ids += n;
      for (const id of ids.subarray(0, n)) {
        const wrong = judge.see(id, place.line);
        if (wrong) return { wrong: `seed ${seed}: ${wrong}`, sum };
      }
    }
    await town.time.pass(upTo(5));
  }
  for (const { keeper } of places) if (keeper) note(keeper);
  return { wrong: undefined, sum };
}

const silent = { info: () => {}, warn: () => {}, error: () => {} };

test("property: whatever service and clocks do, no ID is made twice and none without a lease", async () => {
  const total: Record<string, number> = {};
  for (let seed = 1; seed <= 2; seed++) {
    const { wrong, sum } = await simulate(seed);
    assert.equal(wrong, undefined);
    for (const [what, n] of Object.entries(sum)) total[what] = (total[what] ?? 0) + n;
  }
  for (const [what, n] of Object.entries(total)) assert.ok(n > (what === "ids" ? 6_000 : 0), `${what}: ${n}`);
});

test("the judge finds a lease that ends a second late, foreign nodes, and an ID that is made twice", async () => {
  const late = await simulate(1, (record) => ({ ...record, highWater: record.highWater + 1 }));
  assert.match(late.wrong ?? "", /not covered/);
  const shared = await simulate(1, (record) => ({
    ...record,
    firstNode: 0,
    lastNode: record.lastNode - record.firstNode,
  }));
  assert.match(shared.wrong ?? "", /not covered/);
  const town = new Town();
  const { keeper, line } = await town.keep();
  const judge = new Judge();
  const id = keeper.generate();
  assert.equal(judge.see(id, line), undefined);
  assert.match(judge.see(id, line) ?? "", /made twice/);
});
