// The text form of IDs. Nothing here needs Node, so that browsers can load it.
import { refuse, signed } from "./errors.js";

export { RandflakeError } from "./errors.js";

/** Returns the text form of an ID, a signed 64-bit integer: 1 to 13 base32hex digits in lower case. */
export function format(id: bigint): string {
  return BigInt.asUintN(64, signed(id)).toString(32); // its digits are those of base32hex
}

/** Reads the text form. Each ID has exactly one, which is what format returns. */
export function parse(text: string): bigint {
  if (typeof text !== "string" || !/^(0|[1-9a-v][0-9a-v]{0,11}|[1-9a-f][0-9a-v]{12})$/.test(text)) {
    refuse(`${JSON.stringify(String(text).slice(0, 40))}: want 1 to 13 of 0-9 and a-v, no leading 0, 13 from 1 to f`);
  }
  const head = text.slice(0, -6); // 7 digits at most: numbers hold either part
  return BigInt.asIntN(64, (BigInt(parseInt(head || "0", 32)) << 30n) | BigInt(parseInt(text.slice(-6), 32)));
}

declare const kind: unique symbol;

/** The text of an ID of one kind of thing, such as "ord_jvgoe12ccb8gh": a string, and to TypeScript a type of its own. */
export type TypedID<Prefix extends string> = `${Prefix}_${string}` & { readonly [kind]: Prefix };

/** Returns what converts the texts of one kind of thing, as randflake.Typed of Go has them. */
export function typed<Prefix extends string>(prefix: Prefix) {
  if (typeof prefix !== "string" || !/^[a-z]([a-z0-9_]{0,61}[a-z0-9])?$/.test(prefix)) {
    refuse(`prefix ${prefix}: want up to 63 of a-z, 0-9 and _, a letter first and no underscore last`);
  }
  const format_ = (id: bigint) => `${prefix}_${format(id)}` as TypedID<Prefix>;
  const toBigInt = (text: TypedID<Prefix>): bigint => {
    if (String(text).startsWith(`${prefix}_`)) return parse(text.slice(prefix.length + 1));
    return refuse(`${JSON.stringify(String(text).slice(0, 80))}: want ${prefix}_ and then the digits`);
  };
  return {
    /** Returns the text of an ID, a signed 64-bit integer. */
    format: format_,
    /** Returns the ID of a text, for a BIGINT. */
    toBigInt,
    /** Checks a text from outside, such as one in JSON or a URL. That of another kind is an error. */
    parse: (text: string) => format_(toBigInt(text as TypedID<Prefix>)),
  };
}
