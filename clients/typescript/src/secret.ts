import { RandflakeError } from "./errors.js";

const redacted = "[redacted]";

// Lets other modules of this package at the bytes, and nobody else.
let bytesOf: (secret: Secret) => Uint8Array;

/**
 * The 128-bit key of one ID space. It opens every ID of that space, and predicts the next ones; two secrets are two
 * spaces, whose IDs may collide. A Secret prints as "[redacted]", also in JSON and on the console. Only `hex` gives it
 * away.
 */
export class Secret {
  readonly #bytes: Uint8Array<ArrayBuffer>;
  #check: Promise<string> | undefined;

  static {
    bytesOf = (secret) => secret.#bytes;
  }

  private constructor(bytes: Uint8Array) {
    this.#bytes = new Uint8Array(bytes);
  }

  /** Returns a fresh random secret. */
  static random(): Secret {
    return new Secret(crypto.getRandomValues(new Uint8Array(16)));
  }

  /** Returns the secret with the given 16 bytes, not all of them zero; otherwise throws INVALID_SECRET. */
  static fromBytes(bytes: Uint8Array): Secret {
    if (bytes.length !== 16) throw new RandflakeError("INVALID_SECRET", `secret: want 16 bytes, got ${bytes.length}`);
    if (bytes.every((byte) => byte === 0)) {
      throw new RandflakeError("INVALID_SECRET", "secret: it is all zeros, so that anybody could open its IDs");
    }
    return new Secret(bytes);
  }

  /** Reads 32 hexadecimal digits, or the base64 of 16 bytes, of either alphabet; otherwise throws INVALID_SECRET. */
  static parse(text: string): Secret {
    if (/^[0-9a-f]{32}$/i.test(text)) {
      return Secret.fromBytes(Uint8Array.from(text.match(/../g)!, (digits) => parseInt(digits, 16)));
    }
    // The last digit of 22 holds 2 bits.
    if (/^([A-Za-z0-9+/]{21}|[A-Za-z0-9_-]{21})[AQgw](==)?$/.test(text)) {
      const bytes = atob(text.slice(0, 22).replaceAll("-", "+").replaceAll("_", "/"));
      return Secret.fromBytes(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0)));
    }
    const got = typeof text === "string" ? `got ${text.length} characters that are neither` : `got ${typeof text}`;
    throw new RandflakeError("INVALID_SECRET", `secret: want 32 hexadecimal digits or the base64 of 16 bytes, ${got}`);
  }

  /** Gives the secret away, as 32 hexadecimal digits. */
  hex(): string {
    return hex(this.#bytes);
  }

  /**
   * Returns the key check value, by which two places can find out that they have the same secret without showing it:
   * the first 8 bytes of HMAC-SHA-256 of a fixed text under the secret, as 16 hexadecimal digits. Browsers have it in
   * secure contexts only.
   */
  checkValue(): Promise<string> {
    return (this.#check ??= this.#mac());
  }

  async #mac(): Promise<string> {
    const hmac = { name: "HMAC", hash: "SHA-256" };
    const key = await crypto.subtle.importKey("raw", this.#bytes, hmac, false, ["sign"]);
    const mac = await crypto.subtle.sign("HMAC", key, new TextEncoder().encode("randflake key check value"));
    return hex(new Uint8Array(mac, 0, 8));
  }

  toString(): string {
    return redacted;
  }

  toJSON(): string {
    return redacted;
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return redacted;
  }
}

export { bytesOf };

/** Returns bytes as hexadecimal digits. */
export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
