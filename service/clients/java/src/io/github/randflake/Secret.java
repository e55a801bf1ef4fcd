package io.github.randflake;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.time.Instant;
import java.util.*;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * The 128-bit key of one space of IDs. It opens every ID of the space, and predicts the next ones. It is never shown.
 *
 * The block cipher is SPARX-64/128 (Dinu, Perrin, Udovenko, Velichkov, Großschädl, Biryukov: "Design Strategies for ARX
 * with Provable Bounds: SPARX and LAX", ASIACRYPT 2016). A block is four 16-bit words, two branches (a, b) and (c, d).
 * Here a and c are the upper and the lower half of the long x, and b and d those of y, so that one operation works on
 * both branches. It takes the same time for all keys and blocks.
 */
public final class Secret {
    private static final long WORDS = 0x0000_FFFF_0000_FFFFL;

    private final long[] keys = new long[50]; // of x and y, for three rounds of each of eight steps, and the last one
    private final String checkValue;

    private Secret(byte[] key) {
        int[] k = new int[8];
        for (int i = 0; i < 8; i++) k[i] = (key[2 * i] & 0xFF) << 8 | key[2 * i + 1] & 0xFF;
        for (int i = 0; i < 16; i++) { // one branch of a step after the other
            for (int j = 0; j < 6; j++) keys[i / 2 * 6 + j] |= (long) k[j] << (i % 2 == 0 ? 32 : 0);
            int a = (int) rotate(k[0], 9) + k[1] & 0xFFFF;
            int b = (int) rotate(k[1], 2) ^ a;
            k = new int[] {k[6], k[7] + i + 1 & 0xFFFF, a, b, k[2] + a & 0xFFFF, k[3] + b & 0xFFFF, k[4], k[5]};
        }
        keys[48] = (long) k[0] << 32 | k[2];
        keys[49] = (long) k[1] << 32 | k[3];
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            byte[] sum = mac.doFinal("randflake key check value".getBytes(StandardCharsets.US_ASCII));
            this.checkValue = HexFormat.of().formatHex(sum, 0, 8);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e); // every Java has it
        }
    }

    /** Reads 32 hexadecimal digits, or the base64 of 16 bytes, in either alphabet, with or without padding. */
    public static Secret parse(String text) {
        byte[] key = new byte[16];
        if (text.matches("[0-9A-Fa-f]{32}")) key = HexFormat.of().parseHex(text);
        if (text.matches("[0-9A-Za-z+/_-]{21}[AQgw](==)?"))
            key = Base64.getUrlDecoder().decode(text.replace('+', '-').replace('/', '_'));
        if (!Arrays.equals(key, new byte[16])) return new Secret(key);
        throw new IllegalArgumentException("randflake: secret: want 32 hexadecimal digits, or the base64 of 16 bytes, "
                + "and not all zeros; got " + text.length() + " characters");
    }

    /** Returns 16 hexadecimal digits that are equal for equal secrets, and reveal nothing of them. */
    public String checkValue() { return checkValue; }

    /** Decrypts an ID. IDs are not authenticated: any number decrypts to some fields. */
    public Fields inspect(long id) {
        long raw = decrypt(id);
        Instant time = Instant.ofEpochSecond((raw >>> 34) + Id.FIRST_SECOND);
        return new Fields(time, (int) (raw >>> 17) & Id.MAX, (int) raw & Id.MAX);
    }

    /** Returns the ID that has these fields. Nothing but a {@link Generator} makes IDs that are unique. */
    public long compose(Fields fields) {
        return encrypt(fields.time().getEpochSecond() - Id.FIRST_SECOND << 34 | (long) fields.node() << 17 | fields.sequence());
    }

    /** Encrypts a block: the 8 bytes of a long, in little-endian order. */
    long encrypt(long block) {
        long words = Long.reverseBytes(block), x = words >>> 16 & WORDS, y = words & WORDS;
        for (int step = 0; step < 48; step += 6) {
            for (int round = step; round < step + 6; round += 2) {
                y ^= keys[round + 1];
                x = rotate(x ^ keys[round], 9) + y & WORDS;
                y = rotate(y, 2) ^ x;
            }
            long a = x >>> 32, b = y >>> 32, t = rotate(a ^ b, 8);
            x = (x ^ a ^ t) << 32 | a;
            y = (y ^ b ^ t) << 32 | b;
        }
        return Long.reverseBytes((x ^ keys[48]) << 16 | y ^ keys[49]);
    }

    /** Is the inverse of encrypt. */
    long decrypt(long block) {
        long words = Long.reverseBytes(block), x = words >>> 16 & WORDS ^ keys[48], y = words & WORDS ^ keys[49];
        for (int step = 42; step >= 0; step -= 6) {
            long a = x & 0xFFFF, b = y & 0xFFFF, t = rotate(a ^ b, 8);
            x = a << 32 | x >>> 32 ^ a ^ t;
            y = b << 32 | y >>> 32 ^ b ^ t;
            for (int round = step + 4; round >= step; round -= 2) {
                y = rotate(y ^ x, 14);
                x = rotate((x | ~WORDS) - y & WORDS, 7) ^ keys[round]; // the bits above a word lend to it
                y ^= keys[round + 1];
            }
        }
        return Long.reverseBytes(x << 16 | y);
    }

    private static long rotate(long words, int n) { return (words << n | words >>> 16 - n) & WORDS; }
}
