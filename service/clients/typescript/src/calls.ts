/** Makes one call at a time. All who wait for it get its outcome. */
export class Calls {
  error: unknown; // of the last call, if it failed
  #current: Promise<void> | undefined;
  #pause = 0; // milliseconds after the last call
  #again = 0; // when that is over

  constructor(private readonly call: () => Promise<void>) {}

  now(): Promise<void> { return (this.#current ??= this.#make()); }

  /** Calls in the background; after a failure no sooner than a second later, then two, four, up to sixteen. */
  soon(): void {
    if (!this.#current && performance.now() >= this.#again) this.now().catch(() => {});
  }

  async #make(): Promise<void> {
    try {
      await this.call();
      this.error = undefined;
      this.#pause = 0;
    } catch (error) {
      this.error = error;
      this.#pause = Math.min(2 * this.#pause || 1000, 16_000);
      throw error;
    } finally {
      this.#current = undefined;
      this.#again = performance.now() + this.#pause;
    }
  }
}
