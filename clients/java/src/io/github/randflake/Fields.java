package io.github.randflake;

/**
 * What an ID holds.
 *
 * @param second the Unix second, from {@link #FIRST_SECOND} to {@link #LAST_SECOND}
 * @param node from 0 to {@link #MAX}
 * @param sequence from 0 to {@link #MAX}
 */
public record Fields(long second, int node, int sequence) {
    /** 2024-10-27 03:33:20 UTC. */
    public static final long FIRST_SECOND = 1_730_000_000L;
    /** 2058-11-05 17:10:23 UTC. */
    public static final long LAST_SECOND = FIRST_SECOND + (1 << 30) - 1;
    /** The largest node, and the largest sequence. */
    public static final int MAX = (1 << 17) - 1;

    /** @throws IllegalArgumentException if a field is out of range */
    public Fields {
        check("second", second, FIRST_SECOND, LAST_SECOND);
        check("node", node, 0, MAX);
        check("sequence", sequence, 0, MAX);
    }

    static Fields of(long raw) { return new Fields((raw >>> 34) + FIRST_SECOND, (int) (raw >>> 17) & MAX, (int) raw & MAX); }

    long raw() { return second - FIRST_SECOND << 34 | (long) node << 17 | sequence; }

    static long check(String what, long value, long least, long most) {
        if (value < least || value > most)
            throw new IllegalArgumentException("randflake: " + what + " " + value + ": want " + least + " to " + most);
        return value;
    }
}
