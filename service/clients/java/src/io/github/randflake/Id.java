package io.github.randflake;

/** What an ID holds, which is a signed long: a Unix second, and a node and a sequence of 0 to {@link #MAX}. */
public record Id(long second, int node, int sequence) {
    /** 2024-10-27 03:33:20 UTC. */
    public static final long FIRST_SECOND = 1_730_000_000L;
    /** 2058-11-05 17:10:23 UTC. */
    public static final long LAST_SECOND = FIRST_SECOND + (1 << 30) - 1;
    /** The largest node, and the largest sequence. */
    public static final int MAX = (1 << 17) - 1;

    /** @throws IllegalArgumentException if a field is out of range */
    public Id {
        check("second", second, FIRST_SECOND, LAST_SECOND);
        check("node", node, 0, MAX);
        check("sequence", sequence, 0, MAX);
    }

    /** Returns the text of an ID: the unsigned value in base32hex, in lower case, without leading zeros. */
    public static String format(long id) { return Long.toUnsignedString(id, 32); }

    /** Reads an ID from text, and refuses all that {@link #format} does not return. */
    public static long parse(String text) {
        if (text.matches("0|[1-9a-v][0-9a-v]{0,11}|[1-9a-f][0-9a-v]{12}")) return Long.parseUnsignedLong(text, 32);
        throw new IllegalArgumentException("randflake: ID: want 1 to 13 of 0-9 and a-v, of 64 bits, no leading zeros");
    }

    static long check(String what, long value, long least, long most) {
        if (value >= least && value <= most) return value;
        throw new IllegalArgumentException("randflake: " + what + " " + value + ": want " + least + " to " + most);
    }
}
