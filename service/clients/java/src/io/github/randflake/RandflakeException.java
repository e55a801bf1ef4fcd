package io.github.randflake;

import java.util.Set;

/** There are no IDs or numbers now. Arguments that can't be good are an {@link IllegalArgumentException} instead. */
public final class RandflakeException extends RuntimeException {
    private static final Set<String> FINAL = Set.of("invalid_argument", "not_found", "already_exists", "out_of_range",
            "permission_denied", "unauthenticated", "resource_exhausted", "failed_precondition", "unimplemented");
    private final String code;

    RandflakeException(String code, String message, Throwable cause) {
        super(message, cause);
        this.code = code;
    }

    static RandflakeException interrupted(InterruptedException e) {
        Thread.currentThread().interrupt();
        return new RandflakeException("canceled", "randflake: the thread was interrupted", e);
    }

    /** Returns a code of <a href="https://connectrpc.com/docs/protocol">Connect</a>, such as "resource_exhausted". */
    public String code() { return code; }

    /** Returns whether every replica would say the same. If not, it helps to try again later. */
    public boolean isFinal() { return FINAL.contains(code); }
}
