/** Makes one call at a time, whose outcome all get who wait for it. */
export class Calls {
  error: unknown; // of the last call, if it failed
  readonly #call: () => Promise<void>;
  #current: Promise<void> | undefined;
  #pause = 0;
  #again = 0;

  constructor(call: () => Promise<void>) { this.#call = call; }

  now(): Promise<void> {
    return (this.#current ??= this.#call().then(() => this.#ended(0), (error: unknown) => {
      this.#ended(Math.min(2 * this.#pause || 1000, 16_000), error);
      throw error;
    }));
  }

  /** Calls in the background; after a failure no sooner than a second later, then two, four, up to sixteen. */
  soon(): void {
    if (!this.#current && performance.now() >= this.#again) this.now().catch(() => {});
  }

  #ended(pause: number, error?: unknown): void {
    [this.#current, this.#pause, this.#again, this.error] = [undefined, pause, performance.now() + pause, error];
  }
}
