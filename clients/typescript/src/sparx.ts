// SPARX-64/128 (Dinu, Perrin, Udovenko, Velichkov, Großschädl, Biryukov: "Design Strategies for ARX with Provable
// Bounds: SPARX and LAX", ASIACRYPT 2016) encrypts a block of four 16-bit words, two branches (a, b) and (c, d), in
// eight steps. A step is three rounds on each branch, then the linear layer. A round adds its key by exclusive or, then
// does SPECK-32's round without a key. One more key is added after the last step. No branch and no index depends on
// what is secret.

const steps = 8;
const keysPerBranch = 6; // words of round key for one branch in one step
const keysPerStep = 2 * keysPerBranch;
const finalKeys = steps * keysPerStep;

const ror7 = (x: number) => ((x >>> 7) | (x << 9)) & 0xffff;
const rol7 = (x: number) => ((x << 7) | (x >>> 9)) & 0xffff;
const rol2 = (x: number) => ((x << 2) | (x >>> 14)) & 0xffff;
const ror2 = (x: number) => ((x >>> 2) | (x << 14)) & 0xffff;
const rol8 = (x: number) => ((x << 8) | (x >>> 8)) & 0xffff;

/**
 * The round keys of a key of 16 bytes, in the order of the paper: those of branch b in step s begin at s*12 + b*6, two
 * for each round. The last key is words 96 to 99.
 */
function expandKey(key: Uint8Array): Uint16Array {
  const view = new DataView(key.buffer, key.byteOffset, 16);
  const keys = new Uint16Array(finalKeys + 4);
  let k = new Uint16Array(8); // its elements wrap at 16 bits
  for (let i = 0; i < 8; i++) k[i] = view.getUint16(2 * i);
  for (let i = 0; i < 2 * steps; i++) {
    keys.set(k.subarray(0, keysPerBranch), i * keysPerBranch);
    k[0] = ror7(k[0]!) + k[1]!;
    k[1] = rol2(k[1]!) ^ k[0];
    k[2]! += k[0];
    k[3]! += k[1];
    k[7]! += i + 1;
    k = Uint16Array.of(k[6]!, k[7]!, k[0], k[1], k[2]!, k[3]!, k[4]!, k[5]!);
  }
  keys.set(k.subarray(0, 4), finalKeys);
  return keys;
}

/**
 * One expanded key. Its blocks are 64-bit values whose 8 little-endian bytes hold the four words, each of them
 * big-endian: `high` and `low` are the halves of such a value, 32 bits each.
 */
export class Sparx {
  readonly #keys: Uint16Array;
  readonly #block = new DataView(new ArrayBuffer(8));

  constructor(key: Uint8Array) {
    this.#keys = expandKey(key);
  }

  /** Returns the encrypted block as a signed 64-bit integer. */
  encrypt(high: number, low: number): bigint {
    const keys = this.#keys;
    const block = this.#block;
    block.setUint32(0, low, true);
    block.setUint32(4, high, true);
    let a = block.getUint16(0), b = block.getUint16(2), c = block.getUint16(4), d = block.getUint16(6);
    for (let step = 0; step < finalKeys; step += keysPerStep) {
      for (let k = step; k < step + keysPerBranch; k += 2) {
        b ^= keys[k + 1]!;
        a = (ror7(a ^ keys[k]!) + b) & 0xffff;
        b = rol2(b) ^ a;
        d ^= keys[k + keysPerBranch + 1]!;
        c = (ror7(c ^ keys[k + keysPerBranch]!) + d) & 0xffff;
        d = rol2(d) ^ c;
      }
      const t = rol8(a ^ b), left = a, right = b;
      a ^= c ^ t;
      b ^= d ^ t;
      c = left;
      d = right;
    }
    block.setUint16(0, a ^ keys[finalKeys]!);
    block.setUint16(2, b ^ keys[finalKeys + 1]!);
    block.setUint16(4, c ^ keys[finalKeys + 2]!);
    block.setUint16(6, d ^ keys[finalKeys + 3]!);
    return block.getBigInt64(0, true);
  }

  /** Returns the decrypted block as an unsigned 64-bit integer: all that encrypt does, undone from the end. */
  decrypt(value: bigint): bigint {
    const keys = this.#keys;
    const block = this.#block;
    block.setBigInt64(0, value, true);
    let a = block.getUint16(0) ^ keys[finalKeys]!, b = block.getUint16(2) ^ keys[finalKeys + 1]!;
    let c = block.getUint16(4) ^ keys[finalKeys + 2]!, d = block.getUint16(6) ^ keys[finalKeys + 3]!;
    for (let step = finalKeys - keysPerStep; step >= 0; step -= keysPerStep) {
      const t = rol8(c ^ d), left = a, right = b;
      a = c;
      b = d;
      c ^= left ^ t;
      d ^= right ^ t;
      for (let k = step + keysPerBranch - 2; k >= step; k -= 2) {
        b = ror2(b ^ a);
        a = rol7((a - b) & 0xffff) ^ keys[k]!;
        b ^= keys[k + 1]!;
        d = ror2(d ^ c);
        c = rol7((c - d) & 0xffff) ^ keys[k + keysPerBranch]!;
        d ^= keys[k + keysPerBranch + 1]!;
      }
    }
    block.setUint16(0, a);
    block.setUint16(2, b);
    block.setUint16(4, c);
    block.setUint16(6, d);
    return block.getBigUint64(0, true);
  }
}
