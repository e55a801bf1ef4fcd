const final = ["invalid_argument", "not_found", "already_exists", "permission_denied", "unauthenticated",
  "resource_exhausted", "failed_precondition", "out_of_range", "unimplemented"] as const;
const other = ["canceled", "unknown", "deadline_exceeded", "aborted", "internal", "unavailable", "data_loss"] as const;

/** A code of Connect and gRPC. */
export type Code = (typeof final)[number] | (typeof other)[number];

export const isCode = (code: unknown): code is Code => [...final, ...other].includes(code as Code);

/**
 * What this package throws. The code is that of the service, or invalid_argument where this package refuses an argument,
 * or unavailable where no replica answers, or there is no lease yet.
 */
export class RandflakeError extends Error {
  override readonly name = "RandflakeError";
  readonly code: Code;
  /** Whether nothing was changed, and each replica would say the same. Otherwise the outcome of a call is unknown. */
  readonly final: boolean;

  constructor(code: Code, message: string) {
    super(`randflake: ${message}`);
    this.code = code;
    this.final = (final as readonly Code[]).includes(code);
  }
}

export function refuse(why: string): never {
  throw new RandflakeError("invalid_argument", why);
}

export function whole(what: string, value: number, least: number, most: number): void {
  if (Number.isSafeInteger(value) && least <= value && value <= most) return;
  refuse(`${what} ${String(value).slice(0, 40)}: want a whole number from ${least} to ${most}`);
}
