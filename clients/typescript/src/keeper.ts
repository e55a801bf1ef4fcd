import { RandflakeError, refusal, type Code, type Refusal } from "./errors.js";
import { Generator, type Lease } from "./generator.js";
import { MAX_NODE, MAX_SECOND, type Fields } from "./id.js";
import { Lessee, type Claim } from "./lessee.js";
import { consoleLogger, type KeeperOptions, type Logger, type Status } from "./options.js";
import { Pace } from "./pace.js";
import { LostError, ServiceError, type LeaseRecord } from "./service.js";
import { limited, secondOf, systemTime, type Time } from "./time.js";

/** How things stand: failing means that IDs go on but the lease is not renewed, ending that it can't be any more. */
type Condition = "good" | "failing" | "ending" | "stopped";

/** How many seconds ahead of the clock a lease may start to help against a clock that stepped back. */
const clockTolerance = 10;

/**
 * Holds a lease, and makes IDs under it. It renews the lease in the background, rides out outages of the service, and
 * takes another lease when this one is lost or of no more use, so that an ID is refused only when none can be proven
 * unique. Each process, and each worker thread, opens a keeper of its own.
 */
export class Keeper {
  readonly #generator: Generator;
  readonly #lessee: Lessee;
  readonly #logger: Logger;
  readonly #time: Time;
  readonly #ttl: number;
  readonly #pace: Pace;
  readonly #counts = { acquired: 1, renewed: 0, lost: 0, frozen: 0, replaced: 0, released: 0, failed: 0 };

  #held: Claim; // the lease in use
  #lost = false; // another process may hold its nodes after its end
  #next: Claim | undefined; // another lease, granted and not yet in use
  #alarm: Refusal | undefined; // the newest refusal that nothing was done about
  #condition: Condition | undefined; // how things stood after the last act,
  #reported = ""; // and the owner's token of the lease then
  #error: unknown;
  #sleep: { end: AbortController; pause: boolean } | undefined;
  readonly #closing = new AbortController();
  readonly #done: Promise<void>;

  /**
   * Acquires a lease and starts to keep it. Fails with INVALID_OPTION, or with SERVICE when the service refuses, or
   * does not answer twice; then a lease may be granted that nobody uses and that runs out.
   */
  static async open(options: KeeperOptions): Promise<Keeper> {
    const { leases, nodes = 1, ttl = 300, time = systemTime } = options;
    whole("nodes", nodes, 1, MAX_NODE + 1);
    whole("ttl", ttl, 3, 2 ** 31);
    const lessee = new Lessee(leases, { nodes, ttl, check: await options.secret.checkValue() }, time);
    const held = await lessee.acquire().catch((error: unknown) => {
      if (!(error instanceof ServiceError) || error.definite) throw error;
      return lessee.acquire(); // the same one, if that was granted
    });
    try {
      return new Keeper(options, lessee, held);
    } catch (error) {
      await lessee.giveBack(held, held.record.start - 1).catch(() => {}); // it runs out by itself
      throw error;
    }
  }

  private constructor(options: KeeperOptions, lessee: Lessee, held: Claim) {
    const { secret, ttl = 300, logger = consoleLogger, time = systemTime, random = Math.random } = options;
    this.#generator = new Generator(secret, leaseOf(held.record), () => time.now());
    this.#lessee = lessee;
    this.#lessee.signal = this.#closing.signal;
    this.#held = held;
    this.#logger = logger;
    this.#time = time;
    this.#ttl = ttl;
    this.#pace = new Pace(ttl, time, random);
    this.#scheduleRenewal();
    this.#report(undefined, undefined);
    this.#done = this.#run();
  }

  /** Returns a new ID at once, or throws as Generator.generate does. */
  generate(): bigint {
    try {
      return this.#generator.generate();
    } catch (refused) {
      throw this.#heed(refused);
    }
  }

  /** Fills target with new IDs, as Generator.fill does, and returns how many it made. */
  fill(target: BigInt64Array): number {
    try {
      return this.#generator.fill(target);
    } catch (refused) {
      throw this.#heed(refused);
    }
  }

  /** Is generate, but waits after EXHAUSTED, CLOCK_BACKWARD and LEASE_NOT_STARTED, until the signal is aborted. */
  async wait(signal?: AbortSignal): Promise<bigint> {
    for (;;) {
      signal?.throwIfAborted();
      try {
        return this.generate();
      } catch (error) {
        const code = error instanceof RandflakeError ? error.code : undefined;
        if (code !== "EXHAUSTED" && code !== "CLOCK_BACKWARD" && code !== "LEASE_NOT_STARTED") throw error;
      }
      await this.#time.sleep(1000 - (this.#time.now() % 1000), signal);
    }
  }

  /** Opens an ID, as Cipher.inspect does. */
  inspect(id: bigint): Fields {
    return this.#generator.cipher.inspect(id);
  }

  /** Returns a snapshot; never waits. */
  status(): Status {
    const { lease } = this.#generator;
    const now = this.#time.now() / 1000;
    const left = lease.end - now;
    const stopped = this.#closed || this.#condition === "stopped" || this.#alarm === "CLOCK_BACKWARD";
    const healthy = !stopped && now >= lease.start && left > this.#ttl / 3;
    return { healthy, lease, left, error: this.#error, ...this.#counts };
  }

  /**
   * Ends the making of IDs at once, and gives the lease back, with the last second that was really used, so that
   * another process can have its nodes. It takes ten seconds at most; what can't be given back runs out by itself.
   */
  close(): Promise<void> {
    this.#generator.close();
    this.#closing.abort(refusal("CLOSED"));
    this.#sleep?.end.abort();
    return this.#done;
  }

  /** Is close, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  get #closed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Acts on a refusal where that may help. */
  #heed(refused: unknown): unknown {
    const code = refused instanceof RandflakeError ? refused.code : undefined;
    if (!remedied(code)) return refused;
    this.#alarm = code;
    if (!this.#sleep?.pause) this.#sleep?.end.abort();
    return refused;
  }

  async #run(): Promise<void> {
    while (await this.#rest()) {
      const why = this.#trouble();
      let error: unknown;
      try {
        await this.#act(why);
      } catch (thrown) {
        error = thrown;
      }
      if (this.#closed) break;
      this.#pace.acted(!error && !why);
      this.#report(why, error);
    }
    await this.#finish();
  }

  /** Waits until it is time to act: after the pause if there is one, otherwise when an act is due, or on an alarm. */
  async #rest(): Promise<boolean> {
    const { ms, pause } = this.#pace.rest();
    if (pause || !this.#alarm) {
      this.#sleep = { end: new AbortController(), pause };
      await this.#time.sleep(ms, this.#sleep.end.signal, true);
      this.#sleep = undefined;
    }
    return !this.#closed;
  }

  /** Returns why there are no IDs at present: a refusal that was noted may be long past after a pause. */
  #trouble(): Refusal | undefined {
    const noted = this.#alarm;
    this.#alarm = undefined;
    const why = noted || this.#condition === "stopped" ? this.#generator.refusal : undefined;
    return why && remedied(why) ? why : undefined;
  }

  /** Does what is due, and what helps against why. */
  async #act(why: Refusal | undefined): Promise<void> {
    if (this.#next) return this.#moveInTime(this.#next, why);
    if (!this.#lost && (this.#pace.isDue || why === "LEASE_ENDED")) await this.#renew();
    const late = why === "LEASE_NOT_STARTED" && this.#held.record.start - secondOf(this.#time) > this.#ttl;
    if (this.#lost || why === "CLOCK_BACKWARD" || late) await this.#change(why);
  }

  /** Raises the end of the lease, or finds that it is lost. */
  async #renew(): Promise<void> {
    try {
      await this.#lessee.renew(this.#held);
    } catch (error) {
      if (this.#closed) throw error;
      if (error instanceof LostError) return this.#lose(error);
      this.#counts.failed++;
      this.#extend(); // to what was read back
      throw error;
    }
    if (this.#closed) return;
    this.#counts.renewed++;
    this.#scheduleRenewal();
    this.#extend();
    const { end } = this.#generator.lease;
    if (secondOf(this.#time) >= end) throw this.#wrongClock(`the lease was renewed up to ${end}`);
  }

  /** Lets the generator go on to the end of the known state. A later end that it was told of before stays good. */
  #extend(): void {
    const { end } = leaseOf(this.#held.record);
    if (end > this.#generator.lease.end) this.#generator.extend(end);
  }

  /**
   * Notes that the lease is lost. What was granted may be used up to its end only if all others come after that: a
   * process that holds the same lease, as a copy of this one does, or came after it, may use the same seconds.
   */
  #lose(lost: LostError): void {
    this.#lost = true;
    this.#held.renewal = undefined;
    this.#counts.lost++;
    if (lost.others >= this.#generator.lease.end) return;
    this.#generator.freeze();
    this.#counts.frozen++;
  }

  /** Acquires another lease and moves onto it as soon as that is right. */
  async #change(why: Refusal | undefined): Promise<void> {
    try {
      this.#next = await this.#lessee.acquire();
    } catch (error) {
      if (!this.#closed) this.#counts.failed++;
      throw error;
    }
    this.#counts.acquired++;
    if (this.#closed) return;
    const { start } = this.#next.record;
    const useful = this.#lost || (why === "LEASE_NOT_STARTED" && start < this.#held.record.start) ||
      (why === "CLOCK_BACKWARD" && start - secondOf(this.#time) <= clockTolerance);
    if (useful) return this.#moveInTime(this.#next, why);
    await this.#giveNextBack();
    throw this.#wrongClock(`no lease starts before ${start}`);
  }

  /** Moves onto the next lease now if that helps against why, and otherwise when it starts or the old one ends. */
  async #moveInTime(next: Claim, why: Refusal | undefined): Promise<void> {
    const left = Math.min(next.record.start, this.#generator.lease.end) - this.#time.now() / 1000;
    if (why || left <= 0) return this.#move(next);
    this.#pace.dueIn(Math.max(1, Math.min(left, this.#ttl / 3) * 1000), 0); // early, where the clock may be wrong
  }

  /** Makes the generator go on with the next lease, and gives the old one back. */
  async #move(next: Claim): Promise<void> {
    let lastUsed: number;
    try {
      lastUsed = this.#generator.replace(leaseOf(next.record));
    } catch (error) {
      if (!this.#closed) await this.#giveNextBack(); // and otherwise finish does
      throw error;
    }
    const old = this.#held, lost = this.#lost;
    this.#held = next;
    this.#next = undefined;
    this.#lost = false;
    this.#counts.replaced++;
    this.#scheduleRenewal();
    if (!lost) await this.#giveBack(old, lastUsed).catch(() => {}); // it runs out by itself
  }

  #scheduleRenewal(): void {
    const last = this.#held.record.highWater >= MAX_SECOND;
    this.#pace.dueIn(last ? Infinity : (this.#ttl / 3) * 1000, 0.1);
  }

  async #finish(): Promise<void> {
    this.#error = undefined;
    await limited(this.#time, this.#lessee.limit, async (signal) => {
      this.#lessee.signal = signal;
      await this.#giveNextBack();
      if (!this.#lost) await this.#giveBack(this.#held, this.#generator.lastUsed);
    }).catch((error: unknown) => (this.#error = error));
    if (this.#error) this.#log("warn", "closed, but lease not given back: it runs out by itself", this.#error);
    else this.#log("info", "closed, lease given back");
  }

  async #giveNextBack(): Promise<void> {
    const next = this.#next;
    this.#next = undefined;
    if (next) await this.#giveBack(next, next.record.start - 1).catch(() => {});
  }

  async #giveBack(claim: Claim, lastUsed: number): Promise<void> {
    try {
      if ((await this.#lessee.giveBack(claim, lastUsed)) === "released") this.#counts.released++;
    } catch (error) {
      this.#counts.failed++;
      throw error;
    }
  }

  #wrongClock(what: string): ServiceError {
    const clock = `but the clock says ${secondOf(this.#time)}: is it wrong, or the service's, or did that lose data?`;
    return new ServiceError("failed_precondition", `${what}, ${clock}`);
  }

  /** Publishes how things stand after an act that was to help against why, and logs it if that has changed. */
  #report(why: Refusal | undefined, error: unknown): void {
    const before = this.#condition, now = this.#assess(why, error);
    const { owner } = this.#held.record;
    if (now === "good" && owner !== this.#reported) this.#log("info", before ? "lease replaced" : "lease acquired");
    else if (now !== before || owner !== this.#reported) this.#log(...lines[now], error);
    this.#condition = now;
    this.#reported = owner;
    this.#error = error;
  }

  #assess(why: Refusal | undefined, error: unknown): Condition {
    const now = secondOf(this.#time);
    const { lease, frozen } = this.#generator;
    if (now >= lease.end || frozen || (error && (why === "CLOCK_BACKWARD" || now < lease.start))) return "stopped";
    if (this.#lost) return "ending";
    return error ? "failing" : "good";
  }

  #log(level: keyof Logger, what: string, error?: unknown): void {
    const { firstNode, lastNode, start, end } = this.#generator.lease;
    const cause = error instanceof Error ? `: ${error.message}` : "";
    this.#logger[level](`randflake: ${what} (nodes ${firstNode} to ${lastNode}, seconds ${start} to ${end})${cause}`);
  }
}

const lines: Record<Condition, [keyof Logger, string]> = {
  good: ["info", "lease is kept again"],
  failing: ["warn", "lease is not renewed: IDs go on until its end"],
  ending: ["warn", "lease is lost: IDs go on until its end, or another lease"],
  stopped: ["error", "no ID can be made until there is a lease for the present"],
};

/** Whether another call of the service may help. */
function remedied(code?: Code): code is "LEASE_NOT_STARTED" | "LEASE_ENDED" | "CLOCK_BACKWARD" {
  return code === "LEASE_NOT_STARTED" || code === "LEASE_ENDED" || code === "CLOCK_BACKWARD";
}

function leaseOf({ firstNode, lastNode, start, highWater }: LeaseRecord): Lease {
  return { firstNode, lastNode, start, end: highWater + 1 };
}

function whole(what: string, value: number, least: number, most: number): void {
  if (Number.isInteger(value) && least <= value && value <= most) return;
  throw new RandflakeError("INVALID_OPTION", `${what} ${value}: want a whole number from ${least} to ${most}`);
}
