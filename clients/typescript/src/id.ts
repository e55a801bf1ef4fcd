// The IDs themselves: text, secret, what is in them. Nothing here needs Node.

import { RandflakeError, refusal } from "./errors.js";
import { bytesOf, type Secret } from "./secret.js";
import { Sparx } from "./sparx.js";

export { RandflakeError, type Code } from "./errors.js";
export { Secret } from "./secret.js";

/** The Unix second that a timestamp of zero stands for: 2024-10-27 03:33:20 UTC. */
export const EPOCH = 1_730_000_000;
/** The last Unix second that an ID can carry: 2058-11-05 17:10:23 UTC. */
export const MAX_SECOND = EPOCH + 2 ** 30 - 1;
/** The highest node. */
export const MAX_NODE = 2 ** 17 - 1;
/** The highest sequence number. */
export const MAX_SEQUENCE = 2 ** 17 - 1;

/** What an ID holds. */
export interface Fields {
  /** A whole second. */
  time: Date;
  /** 0 to MAX_NODE. */
  node: number;
  /** 0 to MAX_SEQUENCE. */
  sequence: number;
}

/** Returns the text form of an ID, a signed 64-bit integer: 1 to 13 base32hex digits in lower case. */
export function format(id: bigint): string {
  return BigInt.asUintN(64, checked(id)).toString(32); // its digits are those of base32hex
}

/**
 * Reads the text form. Each ID has exactly one, which is what format returns: upper case, leading zeros, padding, white
 * space, signs and values of more than 64 bits are INVALID_ID.
 */
export function parse(text: string): bigint {
  if (typeof text !== "string" || !/^(0|[1-9a-v][0-9a-v]{0,11}|[1-9a-f][0-9a-v]{12})$/.test(text)) {
    const want = "want 1 to 13 base32hex digits in lower case (0-9, a-v), no leading zeros, the first of 13 at most f";
    throw new RandflakeError("INVALID_ID", `${JSON.stringify(String(text).slice(0, 40))}: ${want}`);
  }
  const head = text.slice(0, -6); // 7 digits at most: numbers hold either part
  return BigInt.asIntN(64, (BigInt(parseInt(head || "0", 32)) << 30n) | BigInt(parseInt(text.slice(-6), 32)));
}

function checked(id: bigint): bigint {
  if (typeof id === "bigint" && BigInt.asIntN(64, id) === id) return id;
  const advice = "want a signed 64-bit bigint; BigInt.asIntN(64, id) makes one of an unsigned one";
  throw new RandflakeError("INVALID_ID", `${typeof id} ${String(id).slice(0, 40)}: ${advice}`);
}

/** Opens and composes the IDs of one secret. */
export class Cipher {
  readonly #sparx: Sparx;

  constructor(secret: Secret) {
    this.#sparx = new Sparx(bytesOf(secret));
  }

  /**
   * Opens an ID. Every 64-bit value opens to something, be it an ID or not: see whether time and node are plausible.
   */
  inspect(id: bigint): Fields {
    const raw = this.#sparx.decrypt(checked(id));
    return {
      time: new Date((EPOCH + Number(raw >> 34n)) * 1000),
      node: Number((raw >> 17n) & BigInt(MAX_NODE)),
      sequence: Number(raw & BigInt(MAX_SEQUENCE)),
    };
  }

  /**
   * Returns the ID with the given fields; the time is rounded down to a whole second. Fields that don't fit are
   * INVALID_ID, or END_OF_LIFE. It knows nothing of leases: to make unique IDs use a Keeper.
   */
  compose({ time, node, sequence }: Fields): bigint {
    const second = Math.floor(time.getTime() / 1000);
    if (second > MAX_SECOND) throw refusal("END_OF_LIFE");
    within("second", second, EPOCH, MAX_SECOND);
    within("node", node, 0, MAX_NODE);
    within("sequence", sequence, 0, MAX_SEQUENCE);
    return this.encryptAt(second, node * (MAX_SEQUENCE + 1) + sequence);
  }

  /** Returns the ID of a Unix second and a position in it, 34 bits of node and sequence. @internal */
  encryptAt(second: number, position: number): bigint {
    return this.#sparx.encrypt((second - EPOCH) * 4 + Math.floor(position / 2 ** 32), position);
  }
}

function within(what: string, value: number, first: number, last: number): void {
  if (Number.isInteger(value) && first <= value && value <= last) return;
  throw new RandflakeError("INVALID_ID", `${what} ${value}: want ${first} to ${last}`);
}
