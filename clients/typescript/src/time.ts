import { ServiceError } from "./service.js";

/** What tells the time and waits. */
export interface Time {
  /** The clock whose seconds IDs carry, in milliseconds since 1970. It may step back and forth. */
  now(): number;
  /** Milliseconds since some moment; never steps. */
  uptime(): number;
  /**
   * Resolves after so many milliseconds, or when the signal is aborted; never rejects. A sleep in the background does
   * not keep the process alive.
   */
  sleep(ms: number, signal?: AbortSignal, background?: boolean): Promise<void>;
}

/** Returns the Unix second that the clock shows. */
export function secondOf(time: Time): number {
  return Math.floor(time.now() / 1000);
}

const longestTimer = 2 ** 31 - 1;

export const systemTime: Time = {
  now: () => Date.now(),
  uptime: () => performance.now(),
  sleep: (ms, signal, background) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, Math.min(ms, longestTimer));
      if (background) timer.unref();
      signal?.addEventListener("abort", done, { once: true });
    }),
};

/**
 * Returns what f does, or rejects when it takes longer than so many milliseconds, or when the outer signal is aborted,
 * even if f does not heed the signal that it is given. Nobody learns then what became of f.
 */
export async function limited<T>(
  time: Time, ms: number, f: (signal: AbortSignal) => Promise<T>, outer?: AbortSignal,
): Promise<T> {
  outer?.throwIfAborted();
  const inner = new AbortController();
  const settled = new AbortController();
  const over = new Promise<never>((_, reject) => {
    inner.signal.addEventListener("abort", () => reject(inner.signal.reason), { once: true });
  });
  const stop = () => inner.abort(outer?.reason);
  outer?.addEventListener("abort", stop, { once: true });
  void time.sleep(ms, settled.signal).then(() => {
    if (!settled.signal.aborted) inner.abort(new ServiceError("deadline_exceeded", `no answer within ${ms} ms`));
  });
  try {
    return await Promise.race([f(inner.signal), over]);
  } finally {
    outer?.removeEventListener("abort", stop);
    settled.abort();
  }
}
