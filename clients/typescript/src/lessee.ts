import { hex } from "./secret.js";
import { LostError, ServiceError, type LeaseRecord, type LeaseService } from "./service.js";
import { limited, secondOf, type Time } from "./time.js";

/** What is asked for each time. */
export interface Terms {
  nodes: number;
  ttl: number;
  check: string;
}

/** A lease, as far as its holder knows. */
export interface Claim {
  /** The newest known state. */
  record: LeaseRecord;
  /**
   * The token of a renewal of just that state which has an unknown outcome, and may yet arrive. All attempts at it
   * carry the same token: one of them at most takes effect, and it does not matter which.
   */
  renewal?: string | undefined;
}

/** For how many seconds an owner's token is used again; the service takes it for twice as long. */
const tokenLife = 60;

/** Calls the service until it knows where it stands. */
export class Lessee {
  readonly #leases: LeaseService;
  readonly #terms: Terms;
  readonly #time: Time;
  #owner: { token: string; second: number } | undefined; // of an acquisition with an unknown outcome

  /** Ends calls. */
  signal: AbortSignal | undefined;

  constructor(leases: LeaseService, terms: Terms, time: Time) {
    this.#leases = leases;
    this.#terms = terms;
    this.#time = time;
  }

  /** How many milliseconds a call may take. */
  get limit(): number {
    return Math.min(Math.max(this.#terms.ttl / 6, 1), 10) * 1000;
  }

  /** Asks for a lease. After an unknown outcome it asks for the same one again, for a while. */
  async acquire(): Promise<Claim> {
    const second = secondOf(this.#time);
    const age = second - (this.#owner?.second ?? -Infinity);
    if (!this.#owner || age < 0 || age > tokenLife) this.#owner = { token: newToken(this.#time), second };
    const { token } = this.#owner;
    try {
      const record = await this.#call((signal) => this.#leases.acquire({ ...this.#terms, owner: token }, signal));
      this.#owner = undefined;
      if (record.owner === token && record.lastNode - record.firstNode === this.#terms.nodes - 1) return { record };
      throw new ServiceError("internal", "the service granted another lease than was asked for");
    } catch (error) {
      if (error instanceof ServiceError && error.status === "invalid_argument") this.#owner = undefined;
      throw error;
    }
  }

  /**
   * Raises the end of a lease, or throws a LostError. A renewal whose answer was lost, or that arrives late, makes the
   * next one find the lease lost though it is still ours; then lookup tells.
   */
  async renew(claim: Claim): Promise<void> {
    const again = claim.renewal !== undefined && !(await this.#lookUp(claim));
    claim.renewal ??= newToken(this.#time);
    try {
      return await this.#renewOnce(claim, claim.renewal);
    } catch (error) {
      if (!again || !(error instanceof LostError) || !(await this.#lookUp(claim))) throw error;
    }
    claim.renewal = newToken(this.#time);
    await this.#renewOnce(claim, claim.renewal);
  }

  async #renewOnce(claim: Claim, renewal: string): Promise<void> {
    const record = await this.#call((signal) => this.#leases.renew(claim.record, this.#terms.ttl, renewal, signal));
    if (record.change !== renewal || !sameLease(record, claim.record)) {
      throw new ServiceError("internal", "the service renewed another lease than was asked for");
    }
    claim.record = record;
    claim.renewal = undefined;
  }

  /** Reads the record back, and reports whether it was the renewal of unknown outcome that changed it. */
  async #lookUp(claim: Claim): Promise<boolean> {
    try {
      const record = await this.#call((signal) => this.#leases.lookup(claim.record, signal));
      if (record.change !== claim.renewal || !sameLease(record, claim.record)) return false;
      claim.record = record;
      claim.renewal = undefined;
      return true;
    } catch (error) {
      if (error instanceof LostError) return false; // the renewal says so, and why
      throw error;
    }
  }

  /**
   * Releases a lease, or finds that there is nothing to release any more. It tries once more where a renewal that was
   * under way may have changed the record, or the first attempt may have taken effect.
   */
  async giveBack(claim: Claim, lastUsed: number): Promise<"released" | "lost"> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#call((signal) => this.#leases.release(claim.record, lastUsed, signal));
        return "released";
      } catch (error) {
        const lost = error instanceof LostError;
        if (lost && !(claim.renewal && (await this.#lookUp(claim).catch(() => false)))) return "lost";
        if (attempt === 2) throw error;
      }
    }
  }

  #call<T>(f: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return limited(this.#time, this.limit, f, this.signal);
  }
}

function sameLease(a: LeaseRecord, b: LeaseRecord): boolean {
  return a.owner === b.owner && a.firstNode === b.firstNode && a.lastNode === b.lastNode && a.start === b.start;
}

/** Returns a token that no other call returns: the second in 6 bytes, and 10 random bytes, as hexadecimal digits. */
function newToken(time: Time): string {
  return secondOf(time).toString(16).padStart(12, "0") + hex(crypto.getRandomValues(new Uint8Array(10)));
}
