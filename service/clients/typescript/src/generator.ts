import { Calls } from "./calls.js";
import { RandflakeError, refuse, whole } from "./errors.js";
import { EPOCH, MAX_NODE, MAX_SECOND, Secret } from "./secret.js";
import type { Limits, Service } from "./service.js";

export interface GeneratorOptions {
  /** How many nodes to lease, of 131,072 IDs a second each: 1 by default. */
  nodes?: number | undefined;
}

/** Nodes that are this generator's alone in the seconds of a window; cursor counts the places that are used. */
interface Lease { window: number; firstNode: number; until: number; cursor: number }

const now = () => performance.now() / 1000; // seconds of the monotonic clock
const AHEAD = 180; // seconds of windows that are kept ahead

/**
 * Makes IDs under leases. JavaScript runs each method to its end, so that any number of tasks may share a generator; each
 * process and each worker thread has its own.
 */
export class Generator {
  readonly #service: Service;
  readonly #secret: Secret;
  readonly #nodes: number;
  readonly #places: number; // of a second
  readonly #calls = new Calls(() => this.#fetch());
  readonly #one = new BigInt64Array(1); // what generate fills
  readonly #began = now();
  readonly #leases = new Map<number, Lease>(); // by window
  #limits: Limits | undefined;
  #lease: Lease | undefined; // the one that was used last
  #turn = Infinity; // by the monotonic clock, when the windows after that lease are taken
  #wanted = 0; // the window to take

  /** Calls the service when the first ID is wanted. */
  constructor(service: Service, secret: Secret, { nodes = 1 }: GeneratorOptions = {}) {
    if (!(secret instanceof Secret)) refuse("secret: want a Secret of this package");
    whole("nodes", nodes, 1, MAX_NODE + 1);
    this.#service = service;
    this.#secret = secret;
    this.#nodes = nodes;
    this.#places = nodes * 2 ** 17;
  }

  /** Returns a generator that has a lease. */
  static async open(service: Service, secret: Secret, options: GeneratorOptions = {}): Promise<Generator> {
    const generator = new Generator(service, secret, options);
    await generator.ready();
    return generator;
  }

  /** Sees to it that the lease has room for n IDs, which takes a call only if it has not. */
  async ready(n = 1): Promise<void> {
    whole("n", n, 1, this.#places);
    while (!this.#find(n)) await this.#calls.now();
  }

  /** Returns a new ID, a signed 64-bit integer, or throws if there is no lease: see ready. */
  generate(): bigint { return this.fill(this.#one)[0]!; }

  /** Fills all of an array with new IDs and returns it, or throws as generate does and changes nothing. */
  fill(target: BigInt64Array): BigInt64Array {
    if (!(target instanceof BigInt64Array)) refuse("target: want a BigInt64Array");
    const n = target.length;
    whole("length", n, 1, this.#places);
    const lease = this.#find(n);
    if (!lease) {
      this.#calls.soon();
      throw this.error ?? new RandflakeError("unavailable", `no lease has room for n=${n} yet: await ready(n)`);
    }
    const start = lease.window * this.#limits!.seconds;
    const base = lease.firstNode * 2 ** 17;
    let second = Math.floor(lease.cursor / this.#places);
    let place = lease.cursor - second * this.#places;
    lease.cursor += n;
    for (let i = 0; i < n; i++) {
      if (place === this.#places) {
        second++;
        place = 0;
      }
      target[i] = this.#secret.one(start + second, base + place);
      place++;
    }
    return target;
  }

  /** Why the last call for a lease failed, or undefined. IDs go on for as long as there are leases. */
  get error(): unknown { return this.#calls.error; }

  /** Returns a lease with n places from its cursor on, or undefined, and asks for other leases in time. */
  #find(n: number): Lease | undefined {
    if (!this.#limits) return undefined;
    const { seconds } = this.#limits;
    const second = Math.floor(Date.now() / 1000);
    const at = now();
    this.#wanted = Math.floor(second / seconds);
    const lease = [this.#leases.get(this.#wanted), this.#lease].find((l) => l && at < l.until);
    if (!lease) return undefined;
    // Held in the window, even if the clock was set.
    const held = Math.min(Math.max(second - lease.window * seconds, 0), seconds - 1);
    const cursor = Math.max(lease.cursor, held * this.#places);
    if (cursor + n > seconds * this.#places) return undefined;
    lease.cursor = cursor;
    if (lease !== this.#lease) {
      this.#lease = lease;
      this.#turn = Math.max(at, lease.until - seconds * (0.1 + 0.4 * Math.random()));
      for (const { window, until } of this.#leases.values()) if (at >= until) this.#leases.delete(window);
    }
    this.#plan(this.#limits, Math.max(lease.window, this.#wanted), at);
    return lease;
  }

  /** Has the first window taken that has no lease and should have one. */
  #plan({ seconds, ahead }: Limits, present: number, at: number): void {
    let depth = 0;
    if (at >= this.#turn) depth = at - this.#began < seconds ? 1 : Math.min(ahead, Math.ceil(AHEAD / seconds) + 1);
    this.#wanted = present;
    while (this.#leases.has(this.#wanted)) this.#wanted++;
    if (this.#wanted <= present + depth) this.#calls.soon();
  }

  async #fetch(): Promise<void> {
    if (!this.#limits) {
      const limits = await this.#service.limits();
      const { checkValue } = this.#secret;
      if (limits.checkValue && limits.checkValue !== checkValue) {
        const why = `the space is for IDs of the secret with the check value ${limits.checkValue}, not ${checkValue}`;
        throw new RandflakeError("failed_precondition", `${why}: is it of another environment?`, "WRONG_SECRET");
      }
      this.#limits = limits;
      this.#wanted = Math.floor(Date.now() / 1000 / limits.seconds);
    }
    const window = this.#wanted;
    const { seconds } = this.#limits;
    const until = now() + (window + 1) * seconds - Date.now() / 1000;
    const firstNode = await this.#service.take(window, this.#nodes, seconds);
    this.#leases.set(window, { window, firstNode, until, cursor: 0 });
  }
}

/** A lease that is given by hand: a node, for the Unix seconds from start to before end. */
export interface GivenLease { node: number; start: number; end: number }

/**
 * Makes IDs without a service. Nothing else may ever make IDs of this node in these seconds, so a program that starts
 * again needs a later start, and each process and worker thread a lease of its own.
 */
export class LeasedGenerator {
  readonly #lease: GivenLease;
  readonly #secret: Secret;
  #cursor = 0;

  constructor(lease: GivenLease, secret: Secret) {
    whole("node", lease.node, 0, MAX_NODE);
    whole("start", lease.start, EPOCH, MAX_SECOND);
    whole("end", lease.end, lease.start + 1, MAX_SECOND + 1);
    this.#lease = { ...lease };
    this.#secret = secret;
  }

  /** Returns a new ID, or throws outside the lease. */
  generate(): bigint {
    const { node, start, end } = this.#lease;
    const second = Math.floor(Date.now() / 1000);
    const cursor = Math.max(this.#cursor, second * 2 ** 17);
    const at = Math.floor(cursor / 2 ** 17);
    if (second < start || at >= end) refuse(`want a lease for ${second}: this one is from ${start} to ${end}`);
    this.#cursor = cursor + 1;
    return this.#secret.one(at, node * 2 ** 17 + (cursor % 2 ** 17));
  }
}
