import { randomBytes } from "node:crypto";
import { Calls } from "./calls.js";
import { RandflakeError, refuse, whole } from "./errors.js";
import { MAX_NODE, Secret } from "./secret.js";
import type { Lease, LeaseRequest } from "./service.js";

export interface GeneratorOptions {
  service: { acquire(request: LeaseRequest): Promise<Lease> };
  secret: Secret;
  /** How many nodes to lease, of 131,072 IDs a second each: 1 by default. */
  nodes?: number | undefined;
  /** For how many seconds: 300 by default. */
  ttl?: number | undefined;
}

/**
 * Makes IDs under leases: counts through the places of one, then of the next. JavaScript runs each method to its end,
 * so that any number of tasks may share a generator; each process and each worker thread has its own.
 */
export class Generator {
  readonly #options: GeneratorOptions & { nodes: number; ttl: number };
  readonly #places: number; // of a second
  readonly #calls = new Calls(() => this.#acquire());
  readonly #one = new BigInt64Array(1); // what generate fills
  #lease = { firstNode: 0, start: 0, size: 0, asked: -Infinity }; // how many places it has, and when it was asked for
  #cursor = 0; // how many of these places are used
  #owner = { token: "", asked: -Infinity }; // of a call with an unknown outcome

  /** Calls the service when the first ID is wanted. */
  constructor({ service, secret, nodes = 1, ttl = 300 }: GeneratorOptions) {
    if (!(secret instanceof Secret)) refuse("secret: want a Secret of this package");
    whole("nodes", nodes, 1, MAX_NODE + 1);
    whole("ttl", ttl, 1, 2 ** 19);
    this.#options = { service, secret, nodes, ttl };
    this.#places = nodes * 2 ** 17;
  }

  /** Returns a generator that has a lease. */
  static async open(options: GeneratorOptions): Promise<Generator> {
    const generator = new Generator(options);
    await generator.wait();
    return generator;
  }

  /** Sees to it that the lease has room for n IDs, which takes a call only if it has not. */
  async wait(n = 1): Promise<void> {
    whole("n", n, 1, this.#places);
    while (this.#find(n) < 0) await this.#calls.now();
  }

  /** Returns a new ID, a signed 64-bit integer, or throws if there is no lease: see wait. */
  generate(): bigint { return this.fill(this.#one)[0]!; }

  /** Fills all of an array with new IDs and returns it, or throws as generate does and changes nothing. */
  fill(target: BigInt64Array): BigInt64Array {
    if (!(target instanceof BigInt64Array)) refuse("target: want a BigInt64Array");
    whole("length", target.length, 1, this.#places);
    const first = this.#claim(target.length), { start, firstNode } = this.#lease;
    let second = Math.floor(first / this.#places), place = first - second * this.#places;
    for (let i = 0; i < target.length; i++, place++) {
      if (place === this.#places) [second, place] = [second + 1, 0];
      target[i] = this.#options.secret.one(start + second, firstNode * 2 ** 17 + place);
    }
    return target;
  }

  /** Why the last call for a lease failed, or undefined. IDs go on for as long as the lease before it is good. */
  get error(): unknown { return this.#calls.error; }

  #claim(n: number): number {
    const place = this.#find(n);
    if (place < 0) {
      this.#calls.soon();
      throw this.error ?? new RandflakeError("unavailable", `no lease has room for n=${n} yet: await wait(n)`, false);
    }
    this.#cursor = place + n;
    return place;
  }

  /** Returns the first of n places that were not used yet, or -1, and asks for another lease in time. */
  #find(n: number): number {
    const { asked, start, size } = this.#lease, { ttl } = this.#options, age = (performance.now() - asked) / 1000;
    if (age >= ttl) return -1;
    if (age >= (ttl * 2) / 3) this.#calls.soon();
    const second = Math.floor(Date.now() / 1000); // if that is wrong, times lie at the lease's borders
    const place = Math.max(this.#cursor, Math.min((second - start) * this.#places, size - this.#places));
    return place + n <= size ? place : -1;
  }

  async #acquire(): Promise<void> {
    const { service, secret, nodes, ttl } = this.#options, now = performance.now();
    const retry = now - this.#owner.asked < 60_000;
    if (!retry) {
      const second = Math.floor(Date.now() / 1000).toString(16).padStart(12, "0");
      this.#owner = { token: second + randomBytes(10).toString("hex"), asked: now };
    }
    const { token: owner, asked } = this.#owner;
    try {
      const lease = await service.acquire({ nodes, ttl, owner, check: secret.checkValue, retry });
      this.#lease = { ...lease, size: (lease.highWater - lease.start + 1) * this.#places, asked };
      this.#cursor = 0;
      this.#owner.asked = -Infinity;
    } catch (error) {
      if (error instanceof RandflakeError && error.final) this.#owner.asked = -Infinity;
      throw error;
    }
  }
}
