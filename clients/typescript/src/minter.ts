import { Calls } from "./calls.js";

/** Has the service make IDs, for those who don't have the secret, and keeps some of them for up to five minutes. */
export class Minter {
  readonly #calls: Calls;
  readonly #batch: number;
  #stock: { ids: string[]; asked: number }[] = [];

  /** A batch is what one call asks for; the service may allow less than 512. */
  constructor(service: { mint(count: number): Promise<string[]> }, { batch = 512 } = {}) {
    this.#batch = batch;
    this.#calls = new Calls(async () => {
      const asked = performance.now(), ids = await service.mint(batch);
      this.#stock.push({ ids, asked });
    });
  }

  /** Returns a new ID, as text. */
  async generate(): Promise<string> {
    for (; ; await this.#calls.now()) {
      const now = performance.now();
      this.#stock = this.#stock.filter(({ ids, asked }) => ids.length > 0 && asked <= now && now < asked + 300_000);
      const id = this.#stock[0]?.ids.pop();
      if (this.#stock.length === 1 && this.#stock[0]!.ids.length <= this.#batch / 4) this.#calls.soon();
      if (id !== undefined) return id;
    }
  }
}
