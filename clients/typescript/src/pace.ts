import type { Time } from "./time.js";

/** Says when the keeper may and must act. Its times are those of uptime, whatever the clock shows. */
export class Pace {
  readonly #time: Time;
  readonly #random: () => number;
  readonly #shortest: number;
  readonly #longest: number;
  #backoff: number; // the pause after the next act that is not a calm one
  #again: number | undefined; // the next act is then, not before and not after; undefined if it is free
  #due = Infinity; // act then even if nothing happens

  /**
   * Tries again after a sixtieth of the TTL, then less and less often, down to each sixth and half of that: when the
   * service is back, the lease is within a quarter of the TTL.
   */
  constructor(ttl: number, time: Time, random: () => number) {
    this.#time = time;
    this.#random = random;
    this.#backoff = this.#shortest = Math.max(ttl / 60, 1) * 1000;
    this.#longest = Math.max(ttl / 6, 1) * 1000;
  }

  /** Makes the next act due in so many milliseconds, give or take a part of them. */
  dueIn(ms: number, part: number): void {
    this.#due = this.#time.uptime() + ms * (1 - part + 2 * part * this.#random());
  }

  get isDue(): boolean {
    return this.#time.uptime() >= this.#due;
  }

  /**
   * Notes an act. It is calm if nothing was wrong: then the next one is free to follow when it is due or wanted. After
   * any other one there is a pause of one to one and a half times the backoff, also when all calls went well, for they
   * may not have helped.
   */
  acted(calm: boolean): void {
    if (calm) {
      this.#backoff = this.#shortest;
      this.#again = undefined;
      return;
    }
    this.#again = this.#time.uptime() + this.#backoff * (1 + this.#random() / 2);
    this.#backoff = Math.min(2 * this.#backoff, this.#longest);
  }

  /** Returns in how many milliseconds to act, and whether that is a pause that nothing may cut short. */
  rest(): { ms: number; pause: boolean } {
    return { ms: Math.max(0, (this.#again ?? this.#due) - this.#time.uptime()), pause: this.#again !== undefined };
  }
}
