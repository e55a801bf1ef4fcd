import { randomBytes } from "node:crypto";
import { Calls } from "./calls.js";
import { RandflakeError, refuse, whole } from "./errors.js";
import { Cipher, MAX_NODE, type Secret } from "./id.js";
import type { Lease, LeaseRequest } from "./service.js";

export interface GeneratorOptions {
  /** A Service, or what else leases nodes. */
  service: { acquire(request: LeaseRequest): Promise<Lease> };
  secret: Secret;
  /** How many nodes to lease, of 131,072 IDs a second each: 1 by default. */
  nodes?: number | undefined;
  /** For how many seconds: 300 by default. */
  ttl?: number | undefined;
}

/**
 * Makes IDs under leases: counts through the places of one, then of the next. JavaScript runs each method to its end, so
 * that any number of tasks may share a generator; each process and each worker thread has its own.
 */
export class Generator {
  readonly #options: { service: GeneratorOptions["service"]; secret: Secret; nodes: number; ttl: number };
  readonly #cipher: Cipher;
  readonly #places: number; // of a second
  readonly #most: number; // places of a lease
  readonly #calls = new Calls(() => this.#acquire());
  #lease = { firstNode: 0, start: 0, asked: NaN, size: 0 }; // none: when it was asked for, how many places it has,
  #cursor = 0; //                                              and how many of these are used
  #owner: { token: string; asked: number; retry: boolean } | undefined; // of a call with an unknown outcome

  /** Calls the service when the first ID is wanted. */
  constructor({ service, secret, nodes = 1, ttl = 300 }: GeneratorOptions) {
    whole("nodes", nodes, 1, MAX_NODE + 1);
    whole("ttl", ttl, 1, 2 ** 19);
    this.#options = { service, secret, nodes, ttl };
    this.#cipher = new Cipher(secret);
    this.#places = nodes * 2 ** 17;
    this.#most = this.#places * ttl;
  }

  /** Returns a generator that has a lease. */
  static async open(options: GeneratorOptions): Promise<Generator> {
    const generator = new Generator(options);
    await generator.wait();
    return generator;
  }

  /** Sees to it that the lease has room for n IDs, which takes a call only if it has not. */
  async wait(n = 1): Promise<void> {
    whole("n", n, 1, this.#most);
    while (this.#find(n) < 0) {
      await this.#calls.now();
      if (n > this.#lease.size) refuse(`n ${n}: the lease has just ${this.#lease.size}`);
    }
  }

  /** Returns a new ID, a signed 64-bit integer, or throws if there is no lease: see wait. */
  generate(): bigint {
    const place = this.#claim(1), { start, firstNode } = this.#lease, second = Math.floor(place / this.#places);
    return this.#cipher.one(start + second, firstNode * 2 ** 17 + place - second * this.#places);
  }

  /** Fills all of an array with new IDs and returns it, or throws as generate does and changes nothing. */
  fill(target: BigInt64Array): BigInt64Array {
    if (Object(target)[Symbol.toStringTag] !== "BigInt64Array") refuse("target: want a BigInt64Array");
    const n = target.length, out = new Int32Array(target.buffer, target.byteOffset, 2 * n);
    whole("length", n, 0, this.#most);
    for (let place = n && this.#claim(n), at = 0, run; at < n; at += run, place += run) {
      const { start, firstNode } = this.#lease, second = Math.floor(place / this.#places), used = place - second * this.#places;
      run = Math.min(n - at, this.#places - used);
      this.#cipher.run(out, at, run, start + second, firstNode * 2 ** 17 + used);
    }
    return target;
  }

  /** Why the last call for a lease failed, or undefined. IDs go on for as long as the lease before it is good. */
  get error(): unknown { return this.#calls.error; }

  /** Returns the first of n places that were not used yet, or -1, and asks for another lease in time. */
  #find(n: number): number {
    const { asked, start, size } = this.#lease, { ttl } = this.#options, age = (performance.now() - asked) / 1000;
    if (!(age >= 0 && age < ttl)) return -1;
    if (age >= (ttl * 2) / 3) this.#calls.soon();
    const second = Math.floor(Date.now() / 1000); // if that is wrong, times lie at the lease's borders
    const place = Math.max(this.#cursor, Math.min((second - start) * this.#places, size - Math.max(n, this.#places)));
    return place + n <= size ? place : -1;
  }

  #claim(n: number): number {
    const place = this.#find(n);
    if (place >= 0) return (this.#cursor = place + n) - n;
    this.#calls.soon();
    const { error } = this, why = this.#lease.size ? "the lease has ended, or has no room" : "there is no lease yet";
    if (error instanceof RandflakeError) throw new RandflakeError(error.code, `${why}: ${error.message}`);
    throw new RandflakeError("unavailable", `${why}: await wait()`);
  }

  async #acquire(): Promise<void> {
    const { service, secret, nodes, ttl } = this.#options, now = performance.now();
    if (!this.#owner || !(now - this.#owner.asked < 60_000)) {
      const second = Math.floor(Date.now() / 1000).toString(16).padStart(12, "0");
      this.#owner = { token: second + randomBytes(10).toString("hex"), asked: now, retry: false };
    }
    const { token: owner, asked, retry } = this.#owner;
    this.#owner.retry = true;
    try {
      const lease = await service.acquire({ nodes, ttl, owner, check: await secret.checkValue(), retry });
      this.#lease = { ...lease, asked, size: (lease.highWater - lease.start + 1) * this.#places };
      this.#cursor = 0;
      this.#owner = undefined;
    } catch (error) {
      if ((error as RandflakeError).final) this.#owner = undefined;
      throw error;
    }
  }
}
