import type { Lease } from "./generator.js";
import type { Secret } from "./secret.js";
import type { LeaseService } from "./service.js";
import type { Time } from "./time.js";

export interface KeeperOptions {
  /** Where leases come from: connect(...). All generators with one secret must have theirs from one space. */
  leases: LeaseService;
  secret: Secret;
  /** How many contiguous nodes to lease; each gives 131,072 IDs a second. One if it is left out. */
  nodes?: number;
  /**
   * How many seconds to lease them for, 3 at least; 300 if it is left out. They are renewed at each third of it: IDs go
   * on for more than 60% of it when the service fails, and it passes before another process can have the nodes of one
   * that crashed.
   */
  ttl?: number;
  /** Told of each change: lease acquired, replaced or lost, service failing; by default the console is, of bad ones. */
  logger?: Logger;
  /** For tests and simulations. */
  time?: Time;
  /** Gives the jitter, uniform in [0, 1). */
  random?: () => number;
}

export type Logger = Pick<Console, "info" | "warn" | "error">;

/** Writes to the console what is bad, on the standard error output. */
export const consoleLogger: Logger = {
  info: () => {},
  warn: (line) => console.warn(line),
  error: (line) => console.error(line),
};

/** A snapshot of how a keeper fares. */
export interface Status {
  /** The lease is in force, more than a third of the TTL is left of it, and IDs can be made. */
  healthy: boolean;
  lease: Lease;
  /** Seconds that are left of the lease; negative after its end. */
  left: number;
  /** Why the last attempt to keep the lease failed; undefined when it went well. */
  error: unknown;
  acquired: number;
  renewed: number;
  lost: number;
  /** Lost leases that were not used to their end, as another process may have used the same seconds. */
  frozen: number;
  replaced: number;
  released: number;
  /** Attempts to acquire, renew or release that failed. */
  failed: number;
}
