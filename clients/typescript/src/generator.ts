import { randomBytes } from "node:crypto";
import { Calls } from "./calls.js";
import { RandflakeError, refuse, whole } from "./errors.js";
import { Cipher, EPOCH, MAX_NODE, MAX_SECOND, type Secret } from "./id.js";
import type { Lease, LeaseRequest } from "./service.js";

export interface GeneratorOptions {
  /** A Service, or what else leases nodes. */
  service: { acquire(request: LeaseRequest, limit: number): Promise<Lease> };
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
  readonly #service: GeneratorOptions["service"];
  readonly #secret: Secret;
  readonly #cipher: Cipher;
  readonly #nodes: number;
  readonly #ttl: number; // in seconds
  readonly #places: number; // of a second
  readonly #calls = new Calls(() => this.#acquire());
  #lease: (Lease & { asked: number; size: number }) | undefined; // when it was asked for, and how many places it has
  #cursor = 0;
  #owner: { token: string; asked: number; retry: boolean } | undefined; // of a call with an unknown outcome

  /** Calls the service when the first ID is wanted. */
  constructor({ service, secret, nodes = 1, ttl = 300 }: GeneratorOptions) {
    whole("nodes", nodes, 1, MAX_NODE + 1);
    whole("ttl", ttl, 3, 2 ** 19);
    this.#cipher = new Cipher(secret);
    [this.#service, this.#secret, this.#nodes, this.#ttl, this.#places] = [service, secret, nodes, ttl, nodes * 2 ** 17];
  }

  /** Returns a generator that has a lease. */
  static async open(options: GeneratorOptions): Promise<Generator> {
    const generator = new Generator(options);
    await generator.wait();
    return generator;
  }

  /** Sees to it that the lease has room for n IDs, which takes a call only if it has not. */
  async wait(n = 1): Promise<void> {
    whole("n", n, 0, this.#places * this.#ttl);
    while (n > 0 && this.#find(n) < 0) {
      await this.#calls.now();
      if (this.#lease && n > this.#lease.size) refuse(`n ${n}: a lease has just ${this.#lease.size}`);
    }
  }

  /** Returns a new ID, a signed 64-bit integer, or throws if there is no lease: see wait. */
  generate(): bigint {
    const place = this.#claim(1), second = Math.floor(place / this.#places), { start, firstNode } = this.#lease!;
    return this.#cipher.one(start + second, firstNode * 2 ** 17 + place - second * this.#places);
  }

  /** Fills all of an array with new IDs and returns it, or throws as generate does and changes nothing. */
  fill(target: BigInt64Array): BigInt64Array {
    if (Object(target)[Symbol.toStringTag] !== "BigInt64Array") refuse("target: want a BigInt64Array");
    const n = target.length, out = new Int32Array(target.buffer, target.byteOffset, 2 * n);
    whole("length", n, 0, this.#places * this.#ttl);
    for (let place = n && this.#claim(n), at = 0, run; at < n; at += run, place += run) {
      const second = Math.floor(place / this.#places), used = place - second * this.#places;
      run = Math.min(n - at, this.#places - used);
      this.#cipher.run(out, at, run, this.#lease!.start + second, this.#lease!.firstNode * 2 ** 17 + used);
    }
    return target;
  }

  /** Why the last call for a lease failed, or undefined. IDs go on for as long as the lease before it is good. */
  get error(): unknown { return this.#calls.error; }

  /** Returns the first of n places that were not used yet, or -1. Asks for another lease in time. */
  #find(n: number): number {
    const { asked = NaN, start = 0, size = 0 } = this.#lease ?? {}, age = (performance.now() - asked) / 1000;
    if (!(age >= 0 && age < this.#ttl)) return -1;
    if (age >= (this.#ttl * 2) / 3) this.#calls.soon();
    const second = Math.floor(Date.now() / 1000); // if it is wrong, that of the lease's border
    const clock = Math.min((second - start) * this.#places, size - Math.max(n, this.#places));
    const place = Math.max(this.#cursor, clock);
    return place + n <= size ? place : -1;
  }

  #claim(n: number): number {
    const place = this.#find(n);
    if (place >= 0) return (this.#cursor = place + n) - n;
    this.#calls.soon();
    const why = this.#lease ? "the lease has ended, or has no room" : "there is no lease yet", { error } = this;
    if (error instanceof RandflakeError) throw new RandflakeError(error.code, `${why}: ${error.message}`);
    throw new RandflakeError("unavailable", `${why}: await wait()`);
  }

  async #acquire(): Promise<void> {
    const now = performance.now(), nodes = this.#nodes, ttl = this.#ttl;
    if (!this.#owner || !(now - this.#owner.asked < 60_000)) {
      const second = Math.floor(Date.now() / 1000).toString(16).padStart(12, "0");
      this.#owner = { token: second + randomBytes(10).toString("hex"), asked: now, retry: false };
    }
    const owner = this.#owner, { token, asked, retry } = owner;
    try {
      const request = { nodes, ttl, owner: token, check: await this.#secret.checkValue(), retry };
      const lease = await this.#service.acquire(request, Math.max((ttl * 1000) / 6, 2000));
      const { firstNode, lastNode, start, highWater } = lease, size = (highWater - start + 1) * this.#places;
      const good = lease.owner === token && [firstNode, start, size].every(Number.isSafeInteger) && size > 0 &&
        firstNode >= 0 && lastNode === firstNode + nodes - 1 && lastNode <= MAX_NODE && start >= EPOCH && highWater <= MAX_SECOND;
      if (!good) throw new RandflakeError("unavailable", "malformed answer: want the lease that was asked for");
      [this.#lease, this.#cursor, this.#owner] = [{ ...lease, asked, size }, 0, undefined];
    } catch (error) {
      const { final, code } = error as Partial<RandflakeError>;
      if (final && (!retry || code === "invalid_argument")) this.#owner = undefined; // nothing was granted
      else owner.retry = true;
      throw error;
    }
  }
}
