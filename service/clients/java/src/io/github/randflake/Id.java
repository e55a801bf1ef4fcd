package io.github.randflake;

import java.util.Locale;

/** Writes and reads the text of an ID, which is a signed long. */
public final class Id {
    static final long FIRST_SECOND = 1_730_000_000L; // 2024-10-27 03:33:20 UTC
    static final long LAST_SECOND = FIRST_SECOND + (1 << 30) - 1; // 2058-11-05 17:10:23 UTC
    static final int MAX = (1 << 17) - 1; // the largest node, and the largest sequence

    private Id() {}

    /**
     * Returns the text of an ID: 13 digits of base32hex in lower case, the first from g to v. They are those of 2^64 +
     * the unsigned ID, so that no text looks like a number.
     */
    public static String format(long id) {
        char[] text = new char[13];
        for (int i = 12; i > 0; i--) {
            text[i] = Character.forDigit((int) id & 31, 32);
            id >>>= 5;
        }
        text[0] = Character.forDigit(16 + (int) id, 32); // 2^64, and the 4 bits that are left
        return new String(text);
    }

    /** Reads an ID from text, and refuses all that {@link #format} does not return. */
    public static long parse(String text) {
        if (!text.matches("[g-v][0-9a-v]{12}")) {
            String shown = text.replaceAll("\\P{Print}", "?");
            throw new IllegalArgumentException(String.format("randflake: ID \"%.40s\": %s", shown, lookOf(text)));
        }
        long first = Character.digit(text.charAt(0), 32) - 16;
        return first << 60 | Long.parseLong(text.substring(1), 32);
    }

    /** Says what a text that is refused looks like. */
    private static String lookOf(String text) {
        if (text.matches("-?[0-9]+")) return "a decimal number: convert it by Long.parseLong";
        if (text.matches("[0-9a-f][0-9a-v]{0,12}"))
            return "as gosuda/randflake prints it: convert it once, by format(Long.parseUnsignedLong(text, 32))";
        if (text.length() == 13 && !text.equals(text.toLowerCase(Locale.ROOT))) return "has capitals: want lower case";
        return "want 13 digits of base32hex in lower case (0-9, a-v), the first from g to v";
    }

    static long check(String what, long value, long least, long most) {
        if (value >= least && value <= most) return value;
        throw new IllegalArgumentException("randflake: " + what + " " + value + ": want " + least + " to " + most);
    }
}
