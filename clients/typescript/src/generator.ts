import { RandflakeError, refusal, type Refusal } from "./errors.js";
import { Cipher, EPOCH, MAX_NODE, MAX_SECOND, MAX_SEQUENCE, type Secret } from "./id.js";

/**
 * The right to make IDs for a range of nodes, both ends included, during the Unix seconds from `start` up to, and not
 * including, `end`. Generators whose leases do not share both a node and a second never make the same ID.
 */
export interface Lease {
  readonly firstNode: number;
  readonly lastNode: number;
  readonly start: number;
  readonly end: number;
}

/** How many seconds the clock may be behind the newest ID. Up to that, new IDs carry the newest ID's second. */
const clockTolerance = 10;

/** How many IDs one node gives in a second. */
const idsPerNode = MAX_SEQUENCE + 1;

/**
 * Makes IDs under a lease. Its cursor, the newest second used and how many of its places are, only grows, and that is
 * all there is to uniqueness: clocks only say how far ahead the cursor may jump. JavaScript runs each method to its
 * end, so that reading the clock and moving the cursor are one step.
 *
 * A Keeper sees to the lease. Without one, the caller sees to it that no other generator with the same secret ever has
 * a lease that shares both a node and a second with this one. A generator can't be shared by worker threads.
 */
export class Generator {
  readonly cipher: Cipher;
  readonly #now: () => number;
  #lease: Lease;
  #second: number; // the newest one that was used, or the one before the lease
  #used = 0; // how many places of it are
  #over: "CLOSED" | "LEASE_ENDED" | undefined; // closed, or frozen

  /** The clock is in milliseconds since 1970. */
  constructor(secret: Secret, lease: Lease, now: () => number = Date.now) {
    check(lease);
    this.cipher = new Cipher(secret);
    this.#now = now;
    this.#lease = { ...lease };
    this.#second = lease.start - 1;
  }

  /**
   * Returns a new ID, or throws when none can be proven unique: EXHAUSTED, LEASE_NOT_STARTED, LEASE_ENDED,
   * CLOCK_BACKWARD, END_OF_LIFE or CLOSED.
   */
  generate(): bigint {
    this.#claim(1);
    return this.#encrypt(this.#used - 1);
  }

  /**
   * Fills target with new IDs and returns how many it made: fewer than wanted when the second has no more. Throws as
   * generate does when there is none at all.
   */
  fill(target: BigInt64Array): number {
    const made = target.length && this.#claim(target.length);
    const first = this.#used - made;
    for (let i = 0; i < made; i++) target[i] = this.#encrypt(first + i);
    return made;
  }

  /** Claims up to n places of one second, the last of those that are used then, and returns how many. */
  #claim(n: number): number {
    const plan = this.#plan();
    if (typeof plan === "string") throw refusal(plan);
    const taken = Math.min(n, plan.left);
    this.#used = (plan.second === this.#second ? this.#used : 0) + taken;
    this.#second = plan.second;
    return taken;
  }

  /** Returns in which second the next ID is and how many that has left, or why there is none. It changes nothing. */
  #plan(): { second: number; left: number } | Refusal {
    if (this.#over === "CLOSED") return "CLOSED";
    const { start, end, firstNode, lastNode } = this.#lease;
    const now = Math.floor(this.#now() / 1000);
    const begun = this.#second >= start;
    if (begun && now < this.#second - clockTolerance) return "CLOCK_BACKWARD";
    const second = begun ? Math.max(now, this.#second) : now;
    if (!(second <= MAX_SECOND)) return "END_OF_LIFE"; // or not a number
    if (second < start) return "LEASE_NOT_STARTED";
    if (second >= end || this.#over) return "LEASE_ENDED";
    const left = (lastNode - firstNode + 1) * idsPerNode - (second === this.#second ? this.#used : 0);
    if (left > 0) return { second, left };
    return now < second ? "CLOCK_BACKWARD" : "EXHAUSTED";
  }

  #encrypt(position: number): bigint {
    return this.cipher.encryptAt(this.#second, this.#lease.firstNode * idsPerNode + position);
  }

  /** Returns why no ID can be made at present, or undefined if one can. It makes none. */
  get refusal(): Refusal | undefined {
    const plan = this.#plan();
    return typeof plan === "string" ? plan : undefined;
  }

  /** Whether freeze ended the lease, and no other has replaced it. */
  get frozen(): boolean {
    return this.#over === "LEASE_ENDED";
  }

  /** The lease in force; after close, the last one. */
  get lease(): Lease {
    return this.#lease;
  }

  /** The last second that IDs made under the lease in force carry, or the one before its start if there are none. */
  get lastUsed(): number {
    return this.#second;
  }

  /** Moves the end of the lease to a later one; an earlier one is INVALID_LEASE. */
  extend(end: number): void {
    if (this.#over) throw refusal(this.#over);
    if (end < this.#lease.end) invalid(`new end ${end} is before the present one, ${this.#lease.end}`);
    const lease = { ...this.#lease, end };
    check(lease);
    this.#lease = lease;
  }

  /**
   * Goes on with another lease, with a cursor of its own, and returns lastUsed of the old one: from then on the old
   * nodes can be leased again, by any caller. A lease that shares nodes with the old one must start after that second;
   * otherwise it is INVALID_LEASE, and the old one stays in force.
   */
  replace(lease: Lease): number {
    if (this.#over === "CLOSED") throw refusal("CLOSED");
    check(lease);
    const shared = lease.firstNode <= this.#lease.lastNode && this.#lease.firstNode <= lease.lastNode;
    const lastUsed = this.#second;
    if (shared && lease.start <= lastUsed) {
      invalid(`start ${lease.start} is not after ${lastUsed}, the last second used on nodes of the old lease`);
    }
    this.#lease = { ...lease };
    this.#second = lease.start - 1;
    this.#used = 0;
    this.#over = undefined;
    return lastUsed;
  }

  /**
   * Ends the lease at once: each ID is refused with LEASE_ENDED until replace. It is for a lease that turns out to be
   * held by another process too.
   */
  freeze(): void {
    if (this.#over) return;
    this.#over = "LEASE_ENDED";
    this.#lease = { ...this.#lease, end: Math.max(this.#second + 1, this.#lease.start) };
  }

  /** Ends the generator, and returns lastUsed. */
  close(): number {
    this.#over = "CLOSED";
    return this.#second;
  }
}

function check({ firstNode, lastNode, start, end }: Lease): void {
  if (![firstNode, lastNode, start, end].every(Number.isInteger)) invalid("nodes and seconds are whole numbers");
  if (firstNode < 0 || lastNode < firstNode || lastNode > MAX_NODE) {
    invalid(`nodes ${firstNode} to ${lastNode}: want 0 to ${MAX_NODE}, in order`);
  }
  if (start < EPOCH || end <= start || end > MAX_SECOND + 1) {
    invalid(`seconds ${start} to ${end}: want ${EPOCH} to ${MAX_SECOND + 1}, the end after the start`);
  }
}

function invalid(message: string): never {
  throw new RandflakeError("INVALID_LEASE", `invalid lease: ${message}`);
}
