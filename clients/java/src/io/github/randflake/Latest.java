package io.github.randflake;

import java.lang.System.Logger.Level;
import java.util.concurrent.*;

/** Keeps the newest result of a call, which is made by one daemon thread at a time, whoever waits for it. */
abstract class Latest<T> {
    final Service service;
    private final Object lock = new Object(); // which no program can hold while it waits for a call
    private volatile CompletableFuture<T> running = CompletableFuture.completedFuture(null); // or ended
    private volatile long failed, pause; // when the last call failed, and how long refresh waits from then on
    volatile T newest; // null before the first one

    Latest(Service service) { this.service = service; }

    abstract T call();

    /** Has the call made in the background, unless seen is not the newest result, or the call failed a moment ago. */
    void refresh(T seen) {
        if (running.isDone() && (pause == 0 || service.nanos.getAsLong() - failed >= pause)) start(seen);
    }

    /** Returns a result other than seen. It waits for one if there is none yet. */
    T after(T seen) {
        try {
            return start(seen).get();
        } catch (InterruptedException e) {
            throw RandflakeException.interrupted(e);
        } catch (ExecutionException e) {
            String code = e.getCause() instanceof RandflakeException known ? known.code() : "unknown";
            throw new RandflakeException(code, e.getCause().getMessage(), e.getCause());
        }
    }

    /** Returns the call that is under way, or a new one. The lock is never held while a call waits. */
    private CompletableFuture<T> start(T seen) {
        synchronized (lock) {
            if (newest != seen) return CompletableFuture.completedFuture(newest);
            if (running.isDone()) running = CompletableFuture.supplyAsync(this::call, task -> {
                Thread thread = new Thread(task, "randflake");
                thread.setDaemon(true);
                thread.start();
            }).whenComplete(this::end);
            return running;
        }
    }

    private void end(T result, Throwable error) {
        synchronized (lock) {
            if (error == null) newest = result;
            pause = error == null ? 0 : Math.min(16_000_000_000L, Math.max(1_000_000_000L, 2 * pause));
            failed = service.nanos.getAsLong();
        }
        if (error != null && newest != null)
            System.getLogger("io.github.randflake").log(Level.WARNING, error.getMessage());
    }
}
