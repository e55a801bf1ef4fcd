package io.github.randflake;

import java.io.Serializable;
import java.time.Instant;
import java.util.*;

/** There are no IDs or numbers now. Arguments that can't be good are an {@link IllegalArgumentException} instead. */
public final class RandflakeException extends RuntimeException {
    private final Why why;

    /** What programs learn. The last two are null where the service does not say. */
    record Why(String code, String reason, Long until, Long limit) implements Serializable {
        Why(String code, String reason) { this(code, reason, null, null); }

        /** Reads an error of the service. */
        Why(Json answer) {
            this(answer.word("/code", "[a-z_]{1,30}", "unavailable"),
                    answer.word("/details/debug/reason", "[A-Z_]{1,60}", ""),
                    answer.integer("/details/debug/metadata/until"), answer.integer("/details/debug/metadata/limit"));
        }
    }

    RandflakeException(Why why, String message) {
        super("randflake: " + message);
        this.why = why;
    }

    /** Makes one with the stack trace of a thread that waited for a call. */
    RandflakeException(Throwable cause) {
        super(cause.getMessage(), cause);
        this.why = cause instanceof RandflakeException known ? known.why : new Why("unknown", "");
    }

    static RandflakeException interrupted(InterruptedException e) {
        Thread.currentThread().interrupt();
        return new RandflakeException(new Why("canceled", ""), "the thread was interrupted");
    }

    /** Returns a code of <a href="https://connectrpc.com/docs/protocol">Connect</a>, such as "resource_exhausted". */
    public String code() { return why.code; }

    /** Returns why, such as "FULL", as docs/service.md lists, or an empty text if the service gave no reason. */
    public String reason() { return why.reason; }

    /** Returns when the reason ends, if the service says so. */
    public Optional<Instant> until() { return Optional.ofNullable(why.until).map(Instant::ofEpochSecond); }

    /** Returns how much a call may ask for, if this one asked for more. */
    public OptionalLong limit() { return why.limit == null ? OptionalLong.empty() : OptionalLong.of(why.limit); }
}
