/**
 * What this package throws. Its code is that of the service, one of Connect and gRPC, or invalid_argument where this
 * package refuses an argument, or unavailable where no replica answers, or there is no lease yet.
 */
export class RandflakeError extends Error {
  override readonly name = "RandflakeError";

  /**
   * reason says why, such as FULL, as docs/service.md lists; it is empty if the service gave none. until is when the
   * reason ends, and limit how much a call may ask for, or undefined where the service does not say.
   */
  constructor(readonly code: string, message: string, readonly reason = "", readonly until?: Date,
    readonly limit?: number) {
    super(`randflake: ${message}`);
  }
}

export function refuse(why: string): never {
  throw new RandflakeError("invalid_argument", why);
}

export function whole(what: string, value: number, least: number, most: number): void {
  if (Number.isSafeInteger(value) && least <= value && value <= most) return;
  refuse(`${what} ${String(value).slice(0, 40)}: want a whole number from ${least} to ${most}`);
}

export function signed(id: bigint): bigint {
  if (typeof id === "bigint" && BigInt.asIntN(64, id) === id) return id;
  return refuse(`${typeof id} ${String(id).slice(0, 40)}: want a signed 64-bit bigint; see BigInt.asIntN(64, id)`);
}
