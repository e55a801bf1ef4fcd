import { Calls } from "./calls.js";
import { RandflakeError, whole } from "./errors.js";
import type { Service } from "./service.js";

export interface MinterOptions {
  /** How many IDs to ask for at a time, or fewer if the service allows fewer in a call: 512 by default. */
  batch?: number | undefined;
}

/** Has the service make IDs, for those who don't have the secret, and keeps some of them for up to five minutes. */
export class Minter {
  readonly #calls: Calls;
  readonly #stock: { value: bigint; until: number }[] = [];
  #batch: number;

  constructor(service: Service, { batch = 512 }: MinterOptions = {}) {
    whole("batch", batch, 1, 65_536);
    this.#batch = batch;
    this.#calls = new Calls(() => this.#fetch(service));
  }

  async #fetch(service: Service): Promise<void> {
    const until = performance.now() + 300_000;
    for (;;) {
      try {
        for (const value of await service.mint(this.#batch)) this.#stock.push({ value, until });
        return;
      } catch (error) {
        const allowed = error instanceof RandflakeError ? error.limit ?? 0 : 0;
        if (!(0 < allowed && allowed < this.#batch)) throw error;
        this.#batch = allowed;
      }
    }
  }

  /** Returns a new ID. */
  async mint(): Promise<bigint> {
    for (;;) {
      const id = this.#stock.shift();
      if (!id) await this.#calls.now();
      else if (performance.now() < id.until) {
        if (this.#stock.length <= this.#batch / 4) this.#calls.soon();
        return id.value;
      }
    }
  }
}
