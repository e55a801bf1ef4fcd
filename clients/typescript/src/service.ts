import { RandflakeError } from "./errors.js";

/** What a space keeps of one range of nodes. Seconds are Unix seconds, tokens 32 hexadecimal digits. */
export interface LeaseRecord {
  firstNode: number;
  /** Included. */
  lastNode: number;
  /** Empty when released. */
  owner: string;
  /** The token of the newest change. */
  change: string;
  start: number;
  /** The last second of the lease, included. */
  highWater: number;
  /** All of it as it came, to be sent back. */
  sent: Record<string, unknown>;
}

/** Asks for `nodes` contiguous nodes for `ttl` seconds. `check` is the check value of the secret. */
export interface AcquireRequest {
  nodes: number;
  ttl: number;
  owner: string;
  check: string;
}

/**
 * Leases ranges of nodes of one space. A call that fails with anything but a LostError, or a ServiceError that is
 * definite, has an unknown outcome. `acquire` may be called again with the same owner, and gets the same lease; nothing
 * else is repeated unless the caller says so.
 */
export interface LeaseService {
  acquire(request: AcquireRequest, signal: AbortSignal): Promise<LeaseRecord>;
  /** Raises the end of the lease to ttl seconds from now; token becomes the change of the record. */
  renew(held: LeaseRecord, ttl: number, token: string, signal: AbortSignal): Promise<LeaseRecord>;
  /** Reads the record back, after an unknown outcome: its change tells whose it was. */
  lookup(held: LeaseRecord, signal: AbortSignal): Promise<LeaseRecord>;
  /** Gives the lease back. lastUsed is the last second that was used, or the one before its start if none was. */
  release(held: LeaseRecord, lastUsed: number, signal: AbortSignal): Promise<void>;
}

/** A lease is held by another owner, or by nobody. */
export class LostError extends RandflakeError {
  override readonly name = "LostError";
  /**
   * The first second that another owner was granted, or can be. The holder may go on to the end of its lease where that
   * lies before; otherwise, as when it is 0 because nobody knows, it must stop at once.
   */
  readonly others: number;

  constructor(others: number, why: string) {
    super("LEASE_LOST", `lease is lost: ${why}`);
    this.others = others;
  }
}

const definite = ["invalid_argument", "failed_precondition", "unauthenticated", "permission_denied", "not_found",
  "already_exists", "out_of_range", "unimplemented", "resource_exhausted"];

/** A call of the service failed. `status` is the name of a code of Connect and gRPC, such as "unavailable". */
export class ServiceError extends RandflakeError {
  override readonly name = "ServiceError";
  readonly status: string;

  constructor(status: string, message: string, options?: ErrorOptions) {
    super("SERVICE", `${status}: ${message}`, options);
    this.status = status;
  }

  /** Whether the service refused, so that nothing was changed; otherwise the outcome is unknown. */
  get definite(): boolean {
    return definite.includes(this.status);
  }
}
