import { createHmac } from "node:crypto";
import { refuse, signed, whole } from "./errors.js";
import { decrypt, encrypt, expand } from "./sparx.js";

export const EPOCH = 1_730_000_000; // the Unix second of a timestamp of zero, 2024-10-27 03:33:20 UTC
export const MAX_SECOND = EPOCH + 2 ** 30 - 1; // the last Unix second, 2058-11-05 17:10:23 UTC
export const MAX_NODE = 2 ** 17 - 1; // and the last sequence number

/** What an ID holds: a whole second, a node and a sequence number. */
export interface Fields { time: Date; node: number; sequence: number }

/**
 * The 128-bit key of one ID space. It opens every ID of that space, and predicts the next ones; two secrets are two
 * spaces, whose IDs may collide. Its fields are private, so that neither JSON nor the console shows the key.
 */
export class Secret {
  /** 16 hexadecimal digits that are equal for equal secrets. They may be shown. */
  readonly checkValue: string;
  readonly #keys: Int32Array;
  readonly #block = new BigInt64Array(1);
  readonly #halves = new Int32Array(this.#block.buffer);

  private constructor(bytes: Uint8Array) {
    if (bytes.every((byte) => byte === 0)) refuse("secret: it is all zeros, so that anybody could open its IDs");
    this.#keys = expand(bytes);
    this.checkValue = createHmac("sha256", bytes).update("randflake key check value").digest("hex").slice(0, 16);
  }

  /** Reads 32 hexadecimal digits, or the base64 of 16 bytes, of either alphabet. */
  static parse(text: string): Secret {
    if (/^[0-9a-f]{32}$/i.test(text)) return new Secret(Buffer.from(text, "hex"));
    if (/^[\w+/-]{22}(==)?$/.test(text)) return new Secret(Buffer.from(text, "base64"));
    return refuse("secret: want 32 hexadecimal digits or the base64 of 16 bytes, got neither");
  }

  /** Opens an ID. Every 64-bit value opens to something, be it an ID or not. */
  inspect(id: bigint): Fields {
    this.#block[0] = signed(id);
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
    whole("sequence", sequence, 0, MAX_NODE);
    return this.one(second, node * 2 ** 17 + sequence);
  }

  /** Returns the ID of a position, of 34 bits, in a second. @internal */
  one(second: number, position: number): bigint {
    encrypt(this.#keys, this.#halves, ((second - EPOCH) * 4 + position / 2 ** 32) | 0, position | 0);
    return this.#block[0]!;
  }
}
