package io.github.randflake;

import java.util.regex.Pattern;

/**
 * The text of IDs: the unsigned value in base32hex, in lower case, without leading zeros. An ID itself is a signed long,
 * for a BIGINT column. Where another program wrote it as an unsigned decimal, {@link Long#parseUnsignedLong(String)}
 * reads it, and {@link Long#toUnsignedString(long)} writes it.
 */
public final class Ids {
    private static final Pattern TEXT = Pattern.compile("0|[1-9a-v][0-9a-v]{0,11}|[1-9a-f][0-9a-v]{12}");

    private Ids() {}

    /** Returns the text of an ID, 1 to 13 characters. */
    public static String format(long id) { return Long.toUnsignedString(id, 32); }

    /**
     * Reads the text of an ID.
     *
     * @throws IllegalArgumentException for any text that {@link #format} does not return
     */
    public static long parse(String text) {
        if (!TEXT.matcher(text).matches())
            throw new IllegalArgumentException("randflake: ID: want 1 to 13 of 0-9 and a-v, without leading zeros, of at most 64 bits");
        return Long.parseUnsignedLong(text, 32);
    }
}
