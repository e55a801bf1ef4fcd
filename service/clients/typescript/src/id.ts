// The text form of IDs. Nothing here needs Node, so that browsers can load it.
import { refuse, signed } from "./errors.js";

export { RandflakeError } from "./errors.js";

/**
 * Returns the text form of an ID, a signed 64-bit integer: 13 digits of base32hex in lower case, the first from g to v.
 * They are those of 2^64 + the unsigned ID, so that no text looks like a number.
 */
export function format(id: bigint): string {
  return ((1n << 64n) | BigInt.asUintN(64, signed(id))).toString(32);
}

/**
 * Reads the text form. Each ID has exactly one, which is what format returns. A BIGINT that a driver returns as a
 * decimal string, as pg does, is no text: BigInt(row.id) is the ID.
 */
export function parse(text: string): bigint {
  if (typeof text !== "string" || !/^[g-v][0-9a-v]{12}$/.test(text)) {
    refuse(`ID ${JSON.stringify(String(text).slice(0, 40))}: ${lookOf(String(text))}`);
  }
  const head = BigInt(parseInt(text.slice(0, 7), 32)); // a number holds 10 digits at most
  const tail = BigInt(parseInt(text.slice(7), 32));
  return BigInt.asIntN(64, (head << 30n) | tail); // without 2^64
}

/** Says what a text that is refused looks like. */
function lookOf(text: string): string {
  if (/^-?[0-9]+$/.test(text)) return "a decimal number: convert it by BigInt(row.id)";
  if (/^[0-9a-f][0-9a-v]{0,12}$/.test(text)) return "as gosuda/randflake prints it: convert it once, by that package";
  if (text.length === 13 && text !== text.toLowerCase()) return "has capitals: want lower case";
  return "want 13 digits of base32hex in lower case (0-9, a-v), the first from g to v";
}

declare const kind: unique symbol;

/** The text of an ID of one kind of thing, such as "ord_jvgoe12ccb8gh": a string, and to TypeScript a type of its own. */
export type TypedID<Prefix extends string> = `${Prefix}_${string}` & { readonly [kind]: Prefix };

/** Converts the texts of one kind of thing, as randflake.Typed of Go has them. */
export interface Typed<Prefix extends string> {
  /** Returns the text of an ID, a signed 64-bit integer. */
  format(id: bigint): TypedID<Prefix>;
  /** Returns the ID of a text, for a BIGINT. */
  toBigInt(text: TypedID<Prefix>): bigint;
  /** Checks a text from outside, such as one in JSON or a URL. That of another kind is an error. */
  parse(text: string): TypedID<Prefix>;
}

/** Returns what converts the texts with a prefix. */
export function typed<Prefix extends string>(prefix: Prefix): Typed<Prefix> {
  if (typeof prefix !== "string" || !/^[a-z]([a-z0-9_]{0,61}[a-z0-9])?$/.test(prefix)) {
    refuse(`prefix ${prefix}: want up to 63 of a-z, 0-9 and _, a letter first and no underscore last`);
  }
  const format_ = (id: bigint) => `${prefix}_${format(id)}` as TypedID<Prefix>;
  const toBigInt = (text: TypedID<Prefix>): bigint => {
    if (String(text).startsWith(`${prefix}_`)) return parse(text.slice(prefix.length + 1));
    return refuse(`${JSON.stringify(String(text).slice(0, 80))}: want ${prefix}_ and then the digits`);
  };
  return { format: format_, toBigInt, parse: (text) => format_(toBigInt(text as TypedID<Prefix>)) };
}
