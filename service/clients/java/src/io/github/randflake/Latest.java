package io.github.randflake;

import java.lang.System.Logger.Level;
import java.util.concurrent.*;
import java.util.function.Supplier;

/** Makes one call at a time for what runs out, in a daemon thread. All who wait for it get its outcome. */
abstract class Latest {
    final Service service;
    final Object lock = new Object(); // no program can hold it; it is never held while a call waits
    private CompletableFuture<Void> running = CompletableFuture.completedFuture(null); // or ended
    private long ended; // when the last call ended
    private long pause; // how long refresh waits from then on; 0 if the call did not fail

    Latest(Service service) { this.service = service; }

    abstract void call();

    /** Under the lock: has the call made in the background, unless one is under way or failed a moment ago. */
    void refresh() {
        if (running.isDone() && (pause == 0 || service.nanos.getAsLong() - ended >= pause))
            start().whenComplete((done, error) -> {
                if (error != null) System.getLogger("io.github.randflake").log(Level.WARNING, error.getMessage());
            });
    }

    /** Returns what step, under the lock, gets. While that is null, it waits for a call. */
    <T> T take(Supplier<T> step) {
        while (true) {
            CompletableFuture<Void> call;
            synchronized (lock) {
                T got = step.get();
                if (got != null) return got;
                call = start();
            }
            try {
                call.get();
            } catch (InterruptedException e) {
                throw RandflakeException.interrupted(e);
            } catch (ExecutionException e) {
                throw new RandflakeException(e.getCause());
            }
        }
    }

    /** Under the lock: begins a call, unless one is under way, and returns it. */
    private CompletableFuture<Void> start() {
        if (!running.isDone()) return running;
        Executor daemon = task -> {
            Thread thread = new Thread(task, "randflake");
            thread.setDaemon(true);
            thread.start();
        };
        running = CompletableFuture.runAsync(this::call, daemon).whenComplete((done, error) -> {
            synchronized (lock) {
                pause = error == null ? 0 : Math.min(16_000_000_000L, Math.max(1_000_000_000L, 2 * pause));
                ended = service.nanos.getAsLong();
            }
        });
        return running;
    }
}
