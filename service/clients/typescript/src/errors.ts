/**
 * What this package throws. Its code is that of the service, one of Connect and gRPC, or invalid_argument where this
 * package refuses an argument, or unavailable where no replica answers, or there is no lease yet. It is final if
 * nothing was changed, and each replica would say the same; otherwise the outcome of a call is unknown.
 */
export class RandflakeError extends Error {
  override readonly name = "RandflakeError";

  /** limit is how much a call may ask for, if this one asked for more. */
  constructor(readonly code: string, message: string, readonly final: boolean, readonly limit?: number) {
    super(`randflake: ${message}`);
  }
}

export function refuse(why: string): never {
  throw new RandflakeError("invalid_argument", why, true);
}

export function whole(what: string, value: number, least: number, most: number): void {
  if (Number.isSafeInteger(value) && least <= value && value <= most) return;
  refuse(`${what} ${String(value).slice(0, 40)}: want a whole number from ${least} to ${most}`);
}

export function signed(id: bigint): bigint {
  if (typeof id === "bigint" && BigInt.asIntN(64, id) === id) return id;
  return refuse(`${typeof id} ${String(id).slice(0, 40)}: want a signed 64-bit bigint; see BigInt.asIntN(64, id)`);
}
