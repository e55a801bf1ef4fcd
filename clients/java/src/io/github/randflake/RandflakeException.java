package io.github.randflake;

/** There are no IDs or numbers now. Arguments that can never be good are an {@link IllegalArgumentException} instead. */
@SuppressWarnings("serial")
public abstract sealed class RandflakeException extends RuntimeException {
    private final String code;
    boolean unknown; // whether what was asked for may have been done

    private RandflakeException(String code, boolean unknown, String message, Throwable cause) {
        super(message, cause);
        this.code = code;
        this.unknown = unknown;
    }

    /** Returns a code of <a href="https://connectrpc.com/docs/protocol">Connect</a>, such as "resource_exhausted". */
    public String code() { return code; }

    /** Returns the same for another thread, with its own stack trace. */
    static RandflakeException again(Throwable e) {
        String code = e instanceof RandflakeException known ? known.code : "unknown";
        return e instanceof Refused ? new Refused(code, e.getMessage(), e) : new Unavailable(code, e.getMessage(), e);
    }

    /** The service refused. Another replica would refuse, too. */
    public static final class Refused extends RandflakeException {
        Refused(String code, String message, Throwable cause) { super(code, false, message, cause); }
    }

    /** No replica gave an answer that can be used. It helps to try again later. */
    public static final class Unavailable extends RandflakeException {
        Unavailable(String code, String message, Throwable cause) { super(code, true, message, cause); }
    }
}
