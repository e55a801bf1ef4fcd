package io.github.randflake;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.Supplier;

/** The newest result of a call, which is made by one daemon thread at a time, whoever waits for it. */
final class Latest<T> {
    private static final System.Logger LOG = System.getLogger("io.github.randflake");
    private final Clock clock;
    private final Supplier<T> call;
    private volatile CompletableFuture<T> running = CompletableFuture.completedFuture(null); // or ended
    private volatile long failed, pause; // when the last call failed, and for how long refresh does nothing from then on
    volatile T value; // null before the first one

    Latest(Clock clock, Supplier<T> call) {
        this.clock = clock;
        this.call = call;
    }

    /** Has the call made in the background, unless seen is not the newest result any more, or it failed a moment ago. */
    void refresh(T seen) {
        if (!running.isDone() || pause > 0 && clock.nanos() - failed < pause) return;
        try {
            start(seen);
        } catch (OutOfMemoryError e) { // there are too many threads
            end(null, e);
        }
    }

    /** Returns a result other than seen. It waits for one if there is none yet. */
    T after(T seen) {
        try {
            return start(seen).get();
        } catch (ExecutionException e) {
            throw RandflakeException.again(e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new RandflakeException.Unavailable("canceled", "randflake: interrupted while waiting", e);
        }
    }

    /** Returns the call that is under way, or a new one. The lock is never held while a call waits. */
    private synchronized CompletableFuture<T> start(T seen) {
        if (value != seen) return CompletableFuture.completedFuture(value);
        if (running.isDone()) running = CompletableFuture.supplyAsync(call, task -> {
            Thread thread = new Thread(null, task, "randflake", 0, false);
            thread.setDaemon(true);
            thread.start();
        }).whenComplete(this::end);
        return running;
    }

    private synchronized void end(T result, Throwable error) {
        pause = error == null ? 0 : Math.min(16_000_000_000L, Math.max(1_000_000_000L, 2 * pause));
        failed = clock.nanos();
        if (error == null) value = result;
        else if (value != null) LOG.log(System.Logger.Level.WARNING, (error.getCause() == null ? error : error.getCause()).getMessage());
    }
}
