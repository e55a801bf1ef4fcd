package io.github.randflake;

import java.util.Set;

/** There are no IDs or numbers now. Arguments that can't be good are an {@link IllegalArgumentException} instead. */
public final class RandflakeException extends RuntimeException {
    private static final Set<String> FINAL = Set.of("invalid_argument", "not_found", "already_exists", "out_of_range",
            "permission_denied", "unauthenticated", "resource_exhausted", "failed_precondition", "unimplemented");
    private final String code;
    private final long limit;

    RandflakeException(String code, String message, Throwable cause) { this(code, message, cause, 0); }

    RandflakeException(String code, String message, Throwable cause, long limit) {
        super(message, cause);
        this.code = code;
        this.limit = limit;
    }

    static RandflakeException interrupted(InterruptedException e) {
        Thread.currentThread().interrupt();
        return new RandflakeException("canceled", "randflake: the thread was interrupted", e);
    }

    /** Returns a code of <a href="https://connectrpc.com/docs/protocol">Connect</a>, such as "resource_exhausted". */
    public String code() { return code; }

    /** Returns how much a call may ask for, if this one asked for more, or else 0. */
    public long limit() { return limit; }

    /** Returns whether every replica would say the same. If not, it helps to try again later. */
    public boolean isFinal() { return FINAL.contains(code); }
}
