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
