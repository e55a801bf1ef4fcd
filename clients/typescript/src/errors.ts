/**
 * Why something failed. The first six refuse an ID; waiting helps against EXHAUSTED, LEASE_NOT_STARTED and
 * CLOCK_BACKWARD, and a Keeper does what else can be done.
 */
export type Code =
  | "EXHAUSTED" //         no ID is left in this second: wait for the next one, or lease more nodes
  | "LEASE_NOT_STARTED" // the clock is before the lease's first second
  | "LEASE_ENDED" //       the clock has reached the end of the lease, or another process may share it
  | "CLOCK_BACKWARD" //    the clock is behind the newest ID by more than 10 seconds, or that ID's second is used up
  | "END_OF_LIFE" //       a time lies after 2058-11-05 17:10:23 UTC, the last second that the format can hold
  | "CLOSED" //            the generator was closed
  | "INVALID_ID" //        a value is not an ID, or no ID has the given fields
  | "INVALID_SECRET" //    not a secret; neither text nor bytes are part of the error
  | "INVALID_LEASE" //     a lease can't be used
  | "INVALID_OPTION" //    an option can't be used
  | "LEASE_LOST" //        the service says that another owner holds the lease, or nobody
  | "SERVICE"; //          a call of the service failed: a ServiceError

/** What this package throws; compare `code`. */
export class RandflakeError extends Error {
  override readonly name: string = "RandflakeError";
  readonly code: Code;

  constructor(code: Code, message: string, options?: ErrorOptions) {
    super(`randflake: ${message}`, options);
    this.code = code;
  }
}

const refusals = {
  EXHAUSTED: "no ID left in this second: wait for the next one or lease more nodes",
  LEASE_NOT_STARTED: "lease has not started: wait until its start, or set the clock right",
  LEASE_ENDED: "lease has ended: extend or replace it",
  CLOCK_BACKWARD: "clock is behind the newest ID: wait until it has caught up, or replace the lease",
  END_OF_LIFE: "the format ends at 2058-11-05T17:10:23Z",
  CLOSED: "generator is closed",
};

/** The codes with which a generator refuses to make an ID. */
export type Refusal = keyof typeof refusals;

export function refusal(code: Refusal): RandflakeError {
  return new RandflakeError(code, refusals[code]);
}
