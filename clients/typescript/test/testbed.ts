// A testbed for keepers: time that passes at will, a service in memory, faults, and a judge of all IDs.

import { Cipher, EPOCH, LostError, Secret, ServiceError, format } from "@randflake/client";
import type { AcquireRequest, LeaseRecord, LeaseService, Time } from "@randflake/client";

export const secret = Secret.parse("dffd6021bb2bd5b0af676290809ec3a5");
export const cipher = new Cipher(secret);

/** Returns the code with which f fails. */
export function codeOf(f: () => unknown): string {
  try {
    f();
  } catch (error) {
    return (error as { code: string }).code;
  }
  return "nothing";
}

/** A repeatable source of random numbers, uniform in [0, 1). */
export function dice(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), seed | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Time that passes only when it is told to. */
export class VirtualTime implements Time {
  #uptime = 0;
  readonly #sleepers = new Set<{ at: number; wake: () => void }>();

  uptime = () => this.#uptime;
  now = () => (EPOCH + 50_000_000) * 1000 + this.#uptime;
  second = () => Math.floor(this.now() / 1000);

  sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const sleeper = { at: this.#uptime + ms, wake: () => (this.#sleepers.delete(sleeper), resolve()) };
      this.#sleepers.add(sleeper);
      signal?.addEventListener("abort", sleeper.wake, { once: true });
    });

  /** Lets seconds pass, and all that happens meanwhile. */
  async pass(seconds: number): Promise<void> {
    const end = this.#uptime + seconds * 1000;
    for (await settle(); ; await settle()) {
      let next: { at: number; wake: () => void } | undefined;
      for (const sleeper of this.#sleepers) if (!next || sleeper.at < next.at) next = sleeper;
      if (!next || next.at > end) break;
      this.#uptime = Math.max(this.#uptime, next.at);
      next.wake();
    }
    this.#uptime = end;
  }

  /** Returns what the promise comes to, with as much time as that takes. */
  async until<T>(promise: Promise<T>): Promise<T> {
    let settled = false;
    const done = () => (settled = true);
    promise.then(done, done);
    for (await settle(); !settled;) await this.pass(0.1);
    return promise;
  }
}

/** Lets go on what waits for no timer. */
export const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** The same time by a clock that is wrong by so many milliseconds. */
export class Skewed implements Time {
  skew = 0;
  readonly #time: VirtualTime;
  readonly uptime: () => number;
  readonly sleep: VirtualTime["sleep"];

  constructor(time: VirtualTime) {
    this.#time = time;
    this.uptime = time.uptime;
    this.sleep = time.sleep;
  }

  now = () => this.#time.now() + this.skew;
}

const rangeSize = 8; // nodes between the first nodes of two ranges

/** Only the service looks at this. */
const versionOf = (record?: LeaseRecord): number => (record?.sent["version"] as number) ?? 0;

/** The service: one record for each range, for ever. */
export class Space {
  readonly records: LeaseRecord[] = [];
  readonly tokens = new Map<string, LeaseRecord>(); // by owner
  check: string | undefined;
  ranges = 16_384;
  floor = 0; // the first second that may be granted
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  acquire({ nodes, ttl, owner, check }: AcquireRequest): LeaseRecord {
    const again = this.tokens.get(owner);
    if (again) return { ...again };
    if ((this.check ??= check) !== check) throw new ServiceError("failed_precondition", "wrong secret");
    const now = this.#now();
    let at = this.records.findIndex((r) => r.highWater < now);
    if (at < 0) at = this.records.length;
    if (at >= this.ranges) at = this.records.findIndex((r) => !r.owner); // it starts later
    if (at < 0) throw new ServiceError("resource_exhausted", "no free range of nodes");
    const old = this.records[at];
    const start = Math.max(now, (old?.highWater ?? 0) + 1, this.floor);
    const firstNode = at * rangeSize;
    const record = {
      firstNode,
      lastNode: firstNode + nodes - 1,
      owner,
      change: owner,
      start,
      highWater: start + ttl - 1,
      sent: { version: versionOf(old) + 1 },
    };
    this.tokens.set(owner, record);
    return { ...(this.records[at] = record) };
  }

  renew(held: LeaseRecord, ttl: number, token: string): LeaseRecord {
    const now = this.#now();
    const { highWater, ...rest } = this.#current(held, true);
    return this.#put({
      ...rest,
      change: token,
      highWater: Math.max(highWater, now + ttl - 1),
    });
  }

  lookup(held: LeaseRecord): LeaseRecord {
    return { ...this.#current(held, false) };
  }

  release(held: LeaseRecord, lastUsed: number): void {
    const current = this.#current(held, true);
    const least = Math.min(current.highWater, Math.max(lastUsed, current.start - 1));
    this.#put({ ...current, owner: "", highWater: least });
  }

  /** Takes a lease away: an operator releases it, as used to its end. */
  usurp(held: LeaseRecord): void {
    this.release(held, held.highWater);
  }

  #current(held: LeaseRecord, exactly: boolean): LeaseRecord {
    const current = this.records[held.firstNode / rangeSize]!;
    const same = current.owner !== "" && current.owner === held.owner;
    if (same && (!exactly || (versionOf(current) === versionOf(held) && current.change === held.change))) return current;
    throw new LostError(current.start, "its record has changed");
  }

  #put(record: LeaseRecord): LeaseRecord {
    record.sent = { version: versionOf(record) + 1 };
    return { ...(this.records[record.firstNode / rangeSize] = record) };
  }
}

export type Procedure = keyof LeaseService;

/** How a call fails: before or after it takes effect, at once or never coming back. */
export type Fault = "before" | "after" | "hang before" | "hang after" | undefined;

/** One client's way to the space. It notes the calls, and what was granted. */
export class Line implements LeaseService {
  fault: (procedure: Procedure, nth: number) => Fault = () => undefined;
  tamper = (record: LeaseRecord): LeaseRecord => record; // with what the keeper is told
  readonly calls: { procedure: Procedure; at: number }[] = [];
  readonly granted = new Map<string, LeaseRecord>();
  readonly #space: Space;
  readonly #time: Time;

  constructor(space: Space, time: Time) {
    this.#space = space;
    this.#time = time;
  }

  acquire = (request: AcquireRequest) => this.#call("acquire", () => this.#note(this.#space.acquire(request)));
  renew = (held: LeaseRecord, ttl: number, token: string) =>
    this.#call("renew", () => this.#note(this.#space.renew(held, ttl, token)));
  lookup = (held: LeaseRecord) => this.#call("lookup", () => this.#note(this.#space.lookup(held)));
  release = (held: LeaseRecord, lastUsed: number) => this.#call("release", () => this.#space.release(held, lastUsed));

  /** Returns the procedures that were called since the last time. */
  take(): Procedure[] {
    return this.calls.splice(0).map((call) => call.procedure);
  }

  #note(record: LeaseRecord): LeaseRecord {
    const before = this.granted.get(record.owner);
    if (!before || before.highWater < record.highWater) this.granted.set(record.owner, record);
    return this.tamper(record);
  }

  async #call<T>(procedure: Procedure, f: () => T): Promise<T> {
    this.calls.push({ procedure, at: this.#time.uptime() });
    const fault = this.fault(procedure, this.calls.length);
    const answer = fault === "before" || fault === "hang before" ? undefined : f();
    if (fault?.startsWith("hang")) await new Promise(() => {});
    if (fault) throw new ServiceError("unavailable", `injected: ${fault}`);
    return answer as T;
  }
}

/** Knows every ID that was made, and what is wrong with one. */
export class Judge {
  readonly #made = new Set<bigint>();

  see(id: bigint, line: Line): string | undefined {
    const { time, node, sequence } = cipher.inspect(id);
    const second = time.getTime() / 1000;
    const what = `${format(id)}: second ${second}, node ${node}, sequence ${sequence}`;
    if (this.#made.has(id)) return `made twice: ${what}`;
    this.#made.add(id);
    const covered = [...line.granted.values()].some(
      (r) => r.firstNode <= node && node <= r.lastNode && r.start <= second && second <= r.highWater,
    );
    return covered ? undefined : `not covered by a lease: ${what}`;
  }
}
