// SPARX-64/128 (Dinu, Perrin, Udovenko, Velichkov, Großschädl, Biryukov: "Design Strategies for ARX with Provable
// Bounds: SPARX and LAX", ASIACRYPT 2016) has four 16-bit words, two branches (a, b) and (c, d), in eight steps of
// three rounds of SPECK-32 on each branch and a linear layer. No branch of the code and no index depends on a secret.

/** Puts a word twice into 32 bits, so that one operation rotates it. Only sums must be doubled again. */
const twice = (x: number) => (x & 0xffff) | (x << 16);
const left = (x: number, n: number) => (x << n) | (x >>> (32 - n));
/** Swaps the bytes of both words, which are big-endian in a block, while the block as an integer is little-endian. */
const swap = (x: number) => ((x & 0xff00ff) << 8) | ((x >>> 8) & 0xff00ff);
/** Where the lower half of a 64-bit integer is in this machine. */
const low = new Uint8Array(Uint16Array.of(1).buffer)[0] ? 0 : 1;

/** Returns 100 round keys: for each step six of the one branch and six of the other, then the last four. */
export function expand(key: Uint8Array): Int32Array {
  const keys = new Int32Array(100);
  let k = Array.from({ length: 8 }, (_, i) => twice((key[2 * i]! << 8) | key[2 * i + 1]!));
  for (let i = 0; i <= 16; i++) {
    keys.set(k.slice(0, i < 16 ? 6 : 4), 6 * i);
    const a = twice(left(k[0]!, 9) + k[1]!), b = left(k[1]!, 2) ^ a;
    k = [k[6]!, twice(k[7]! + i + 1), a, b, twice(k[2]! + a), twice(k[3]! + b), k[4]!, k[5]!];
  }
  return keys;
}

/** Encrypts a block, whose halves are given, into those of a 64-bit integer. */
export function encrypt(keys: Int32Array, out: Int32Array, high: number, lower: number): void {
  const x = swap(lower), y = swap(high);
  let a = twice(x), b = twice(x >>> 16), c = twice(y), d = twice(y >>> 16);
  for (let k = 0; k < 96; k += 12) { // three rounds, unrolled: faster by a fifth
    b ^= keys[k + 1]!; a = twice(left(a ^ keys[k]!, 25) + b); b = left(b, 2) ^ a;
    d ^= keys[k + 7]!; c = twice(left(c ^ keys[k + 6]!, 25) + d); d = left(d, 2) ^ c;
    b ^= keys[k + 3]!; a = twice(left(a ^ keys[k + 2]!, 25) + b); b = left(b, 2) ^ a;
    d ^= keys[k + 9]!; c = twice(left(c ^ keys[k + 8]!, 25) + d); d = left(d, 2) ^ c;
    b ^= keys[k + 5]!; a = twice(left(a ^ keys[k + 4]!, 25) + b); b = left(b, 2) ^ a;
    d ^= keys[k + 11]!; c = twice(left(c ^ keys[k + 10]!, 25) + d); d = left(d, 2) ^ c;
    const t = left(a ^ b, 8), a0 = a, b0 = b; // the linear layer
    a ^= c ^ t; b ^= d ^ t; c = a0; d = b0;
  }
  out[low] = swap(((a ^ keys[96]!) & 0xffff) | ((b ^ keys[97]!) << 16));
  out[1 - low] = swap(((c ^ keys[98]!) & 0xffff) | ((d ^ keys[99]!) << 16));
}

/** Decrypts a block in place: all that encrypt does, undone from the end. */
export function decrypt(keys: Int32Array, block: Int32Array): void {
  const x = swap(block[low]!), y = swap(block[1 - low]!);
  let a = twice(x) ^ keys[96]!, b = twice(x >>> 16) ^ keys[97]!;
  let c = twice(y) ^ keys[98]!, d = twice(y >>> 16) ^ keys[99]!;
  for (let step = 84; step >= 0; step -= 12) {
    const t = left(c ^ d, 8), a0 = a, b0 = b;
    a = c; b = d; c ^= a0 ^ t; d ^= b0 ^ t;
    for (let k = step + 4; k >= step; k -= 2) {
      b = left(b ^ a, 30); a = left(twice(a - b), 7) ^ keys[k]!; b ^= keys[k + 1]!;
      d = left(d ^ c, 30); c = left(twice(c - d), 7) ^ keys[k + 6]!; d ^= keys[k + 7]!;
    }
  }
  block[low] = swap((a & 0xffff) | (b << 16));
  block[1 - low] = swap((c & 0xffff) | (d << 16));
}
