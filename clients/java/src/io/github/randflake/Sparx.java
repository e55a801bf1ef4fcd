package io.github.randflake;

/**
 * The block cipher SPARX-64/128 (Dinu, Perrin, Udovenko, Velichkov, Großschädl, Biryukov: "Design Strategies for ARX
 * with Provable Bounds: SPARX and LAX", ASIACRYPT 2016). A block is four 16-bit words, two branches (a, b) and (c, d).
 * Here a and c are the lower halves of the two 32-bit lanes of a long x, and b and d those of y, so that one operation
 * works on both branches. It takes the same time for all keys and blocks.
 */
final class Sparx {
    private static final long WORDS = 0x0000_FFFF_0000_FFFFL;

    private final long[] keys = new long[50]; // of x and y, for three rounds of each of eight steps, and the last one

    Sparx(byte[] key) {
        int[] k = new int[8];
        for (int i = 0; i < 8; i++) k[i] = (key[2 * i] & 0xFF) << 8 | key[2 * i + 1] & 0xFF;
        for (int i = 0; i < 16; i++) { // one branch of a step after the other
            for (int j = 0; j < 6; j++) keys[i / 2 * 6 + j] |= (long) k[j] << 32 * (i % 2);
            int a = (int) rotate(k[0], 9) + k[1] & 0xFFFF, b = (int) rotate(k[1], 2) ^ a;
            k = new int[] {k[6], k[7] + i + 1 & 0xFFFF, a, b, k[2] + a & 0xFFFF, k[3] + b & 0xFFFF, k[4], k[5]};
        }
        keys[48] = k[0] | (long) k[2] << 32;
        keys[49] = k[1] | (long) k[3] << 32;
    }

    /** Encrypts a block: the 8 bytes of a long, in little-endian order. */
    long encrypt(long block) {
        long x = left(block), y = right(block);
        for (int step = 0; step < 48; step += 6) {
            for (int round = step; round < step + 6; round += 2) {
                y ^= keys[round + 1];
                x = rotate(x ^ keys[round], 9) + y & WORDS;
                y = rotate(y, 2) ^ x;
            }
            long a = x & 0xFFFF, b = y & 0xFFFF, t = rotate(a ^ b, 8);
            x = x >>> 32 ^ a ^ t | a << 32;
            y = y >>> 32 ^ b ^ t | b << 32;
        }
        return join(x ^ keys[48], y ^ keys[49]);
    }

    /** Is the inverse of encrypt. */
    long decrypt(long block) {
        long x = left(block) ^ keys[48], y = right(block) ^ keys[49];
        for (int step = 42; step >= 0; step -= 6) {
            long a = x >>> 32, b = y >>> 32, t = rotate(a ^ b, 8);
            x = a | (x ^ a ^ t) << 32;
            y = b | (y ^ b ^ t) << 32;
            for (int round = step + 4; round >= step; round -= 2) {
                y = rotate(y ^ x, 14);
                x = rotate((x | ~WORDS) - y & WORDS, 7) ^ keys[round]; // the bits above a word lend to it
                y ^= keys[round + 1];
            }
        }
        return join(x, y);
    }

    private static long rotate(long words, int n) { return (words << n | words >>> 16 - n) & WORDS; }

    private static long left(long block) { return Long.rotateLeft(Long.reverseBytes(block) >>> 16 & WORDS, 32); }

    private static long right(long block) { return Long.rotateLeft(Long.reverseBytes(block) & WORDS, 32); }

    private static long join(long x, long y) { return Long.reverseBytes(Long.rotateLeft(x, 32) << 16 | Long.rotateLeft(y, 32)); }
}
