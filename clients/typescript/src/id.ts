// The IDs themselves: text, secret, what is in them. Nothing here needs Node.
import { refuse, whole } from "./errors.js";
import { decrypt, encrypt, expand } from "./sparx.js";

export { RandflakeError, type Code } from "./errors.js";
export const EPOCH = 1_730_000_000; // the Unix second of a timestamp of zero, 2024-10-27 03:33:20 UTC
export const MAX_SECOND = EPOCH + 2 ** 30 - 1; // the last Unix second, 2058-11-05 17:10:23 UTC
export const MAX_NODE = 2 ** 17 - 1;
export const MAX_SEQUENCE = 2 ** 17 - 1;

/** What an ID holds: a whole second, a node and a sequence number. */
export interface Fields { time: Date; node: number; sequence: number }

/** Returns the text form of an ID, a signed 64-bit integer: 1 to 13 base32hex digits in lower case. */
export function format(id: bigint): string {
  return BigInt.asUintN(64, checked(id)).toString(32); // its digits are those of base32hex
}

/** Reads the text form. Each ID has exactly one, which is what format returns. */
export function parse(text: string): bigint {
  if (typeof text !== "string" || !/^(0|[1-9a-v][0-9a-v]{0,11}|[1-9a-f][0-9a-v]{12})$/.test(text)) {
    refuse(`${JSON.stringify(String(text).slice(0, 40))}: want 1 to 13 of 0-9 and a-v, no leading zero, 13 from 1 to f`);
  }
  const head = text.slice(0, -6); // 7 digits at most: numbers hold either part
  return BigInt.asIntN(64, (BigInt(parseInt(head || "0", 32)) << 30n) | BigInt(parseInt(text.slice(-6), 32)));
}

function checked(id: bigint): bigint {
  if (typeof id === "bigint" && BigInt.asIntN(64, id) === id) return id;
  return refuse(`${typeof id} ${String(id).slice(0, 40)}: want a signed 64-bit bigint; see BigInt.asIntN(64, id)`);
}

let bytesOf: (secret: Secret) => Uint8Array<ArrayBuffer>; // for this module only

/**
 * The 128-bit key of one ID space. It opens every ID of that space, and predicts the next ones; two secrets are two
 * spaces, whose IDs may collide. It prints as "[redacted]", also in JSON and on the console. Only `hex` shows it.
 */
export class Secret {
  readonly #bytes: Uint8Array<ArrayBuffer>;
  static { bytesOf = (secret) => (secret instanceof Secret ? secret.#bytes : refuse("secret: want a Secret of this package")); }

  private constructor(bytes: Uint8Array) {
    if (bytes.length !== 16) refuse(`secret: want 16 bytes, got ${bytes.length}`);
    if (bytes.every((byte) => byte === 0)) refuse("secret: it is all zeros, so that anybody could open its IDs");
    this.#bytes = Uint8Array.from(bytes);
  }

  /** Returns a fresh random secret. */
  static random(): Secret { return new Secret(crypto.getRandomValues(new Uint8Array(16))); }

  /** Returns the secret with the given 16 bytes, not all of them zero. */
  static fromBytes(bytes: Uint8Array): Secret { return new Secret(bytes); }

  /** Reads 32 hexadecimal digits, or the base64 of 16 bytes, of either alphabet. */
  static parse(text: string): Secret {
    if (/^[0-9a-f]{32}$/i.test(text)) return new Secret(Uint8Array.from(text.match(/../g)!, (byte) => parseInt(byte, 16)));
    // The last digit of 22 holds 2 bits.
    if (!/^([A-Za-z0-9+/]{21}|[A-Za-z0-9_-]{21})[AQgw](==)?$/.test(text)) {
      refuse(`secret: want 32 hexadecimal digits or the base64 of 16 bytes, got neither, but ${String(text).length} characters`);
    }
    const bytes = atob(text.slice(0, 22).replaceAll("-", "+").replaceAll("_", "/"));
    return new Secret(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0)));
  }

  /** Gives the secret away, as 32 hexadecimal digits. */
  hex(): string { return hex(this.#bytes); }

  /**
   * Returns the check value, by which two places can find out that they have the same secret without showing it: the
   * first 8 bytes of HMAC-SHA-256 of a fixed text, as 16 hexadecimal digits. Browsers have it in secure contexts only.
   */
  async checkValue(): Promise<string> {
    const key = await crypto.subtle.importKey("raw", this.#bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    const mac = await crypto.subtle.sign("HMAC", key, new TextEncoder().encode("randflake key check value"));
    return hex(new Uint8Array(mac, 0, 8));
  }

  toString(): string { return "[redacted]"; }
  toJSON(): string { return "[redacted]"; }
  /** @internal */
  [Symbol.for("nodejs.util.inspect.custom")](): string { return "[redacted]"; }
}

const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Opens and composes the IDs of one secret. */
export class Cipher {
  readonly #keys: Int32Array;
  readonly #block = new BigInt64Array(1);
  readonly #halves = new Int32Array(this.#block.buffer);

  constructor(secret: Secret) { this.#keys = expand(bytesOf(secret)); }

  /** Opens an ID. Every 64-bit value opens to something, be it an ID or not. */
  inspect(id: bigint): Fields {
    this.#block[0] = checked(id);
    decrypt(this.#keys, this.#halves);
    const raw = BigInt.asUintN(64, this.#block[0]), position = Number(raw & 0x3_ffff_ffffn);
    const time = new Date((EPOCH + Number(raw >> 34n)) * 1000);
    return { time, node: Math.floor(position / 2 ** 17), sequence: position % 2 ** 17 };
  }

  /** Returns the ID with the given fields. It knows nothing of leases: to make unique IDs use a Generator. */
  compose({ time, node, sequence }: Fields): bigint {
    const second = Math.floor(time.getTime() / 1000);
    whole("second", second, EPOCH, MAX_SECOND);
    whole("node", node, 0, MAX_NODE);
    whole("sequence", sequence, 0, MAX_SEQUENCE);
    return this.one(second, node * 2 ** 17 + sequence);
  }

  /** Makes the ID of a position, of 34 bits, in a second. @internal */
  one(second: number, position: number): bigint {
    this.run(this.#halves, 0, 1, second, position);
    return this.#block[0]!;
  }

  /** Makes n IDs from a position on, into the halves of 64-bit integers. @internal */
  run(out: Int32Array, at: number, n: number, second: number, position: number): void {
    encrypt(this.#keys, out, at, n, (second - EPOCH) * 4 + Math.floor(position / 2 ** 32), position | 0);
  }
}
