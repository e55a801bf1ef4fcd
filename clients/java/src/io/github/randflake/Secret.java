package io.github.randflake;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * The 128-bit key of one space of IDs. It opens every ID of the space, and predicts the next ones. It can't be
 * serialized, and only {@link #hex} shows it. It is safe for use by many threads.
 */
public final class Secret {
    private final byte[] key;
    final Sparx cipher;

    private Secret(byte[] key) {
        this.key = key;
        this.cipher = new Sparx(key);
    }

    /**
     * Reads 32 hexadecimal digits, or the base64 of 16 bytes, in either alphabet, with or without padding.
     *
     * @throws IllegalArgumentException for any other text, which it does not quote, and for 16 zero bytes
     */
    public static Secret parse(String text) {
        byte[] key = text.matches("[0-9A-Fa-f]{32}") ? HexFormat.of().parseHex(text)
                : text.matches("([0-9A-Za-z+/]{21}|[0-9A-Za-z_-]{21})[AQgw](==)?")
                ? Base64.getUrlDecoder().decode(text.substring(0, 22).replace('+', '-').replace('/', '_')) : new byte[16];
        if (Arrays.equals(key, new byte[16])) throw new IllegalArgumentException("randflake: secret: want 32 hexadecimal digits, "
                + "or the base64 of 16 bytes, and not all zeros; got " + text.length() + " characters");
        return new Secret(key);
    }

    /** Reveals the secret, as 32 hexadecimal digits. */
    public String hex() { return HexFormat.of().formatHex(key); }

    /** Returns 16 hexadecimal digits by which two programs can compare their secrets without revealing them. */
    public String checkValue() {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            return HexFormat.of().formatHex(mac.doFinal("randflake key check value".getBytes(StandardCharsets.US_ASCII)), 0, 8);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Decrypts an ID. IDs are not authenticated: any number decrypts to some fields. */
    public Fields inspect(long id) { return Fields.of(cipher.decrypt(id)); }

    /**
     * Returns the ID that has these fields. It knows nothing of leases: a {@link Generator} makes IDs that are unique.
     *
     * @throws IllegalArgumentException if a field is out of range
     */
    public long compose(long second, int node, int sequence) { return cipher.encrypt(new Fields(second, node, sequence).raw()); }

    @Override
    public String toString() { return "Secret[redacted]"; }
}
