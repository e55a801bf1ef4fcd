import { Calls } from "./calls.js";

/** Has the service make IDs, for those who don't have the secret, and keeps some of them for up to five minutes. */
export class Minter {
  readonly #calls: Calls;
  readonly #stock: { text: string; until: number }[] = [];

  constructor(service: { mint(count: number): Promise<string[]> }) {
    this.#calls = new Calls(async () => {
      const until = performance.now() + 300_000;
      for (const text of await service.mint(512)) this.#stock.push({ text, until });
    });
  }

  /** Returns a new ID, as text. */
  async generate(): Promise<string> {
    for (;;) {
      const id = this.#stock.shift();
      if (!id) await this.#calls.now();
      else if (performance.now() < id.until) {
        if (this.#stock.length <= 128) this.#calls.soon();
        return id.text;
      }
    }
  }
}
