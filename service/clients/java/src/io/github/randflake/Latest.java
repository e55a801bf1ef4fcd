package io.github.randflake;

import java.lang.System.Logger.Level;
import java.util.concurrent.*;
import java.util.function.Supplier;

/** Makes calls for what runs out, by one daemon thread at a time, whoever waits for it. */
abstract class Latest {
    final Service service;
    final Object lock = new Object(); // which no program can hold, and is never held while a call waits
    private CompletableFuture<Void> running = CompletableFuture.completedFuture(null); // or ended
    private long failed, pause; // when the last call failed, and how long refresh waits from then on

    Latest(Service service) { this.service = service; }

    abstract void call();

    /** Under the lock: has the call made in the background, unless one is under way or failed a moment ago. */
    void refresh() {
        if (running.isDone() && (pause == 0 || service.nanos.getAsLong() - failed >= pause))
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
                String code = e.getCause() instanceof RandflakeException known ? known.code() : "unknown";
                throw new RandflakeException(code, e.getCause().getMessage(), e.getCause());
            }
        }
    }

    private CompletableFuture<Void> start() {
        if (running.isDone()) running = CompletableFuture.runAsync(this::call, task -> {
            Thread thread = new Thread(task, "randflake");
            thread.setDaemon(true);
            thread.start();
        }).whenComplete((done, error) -> {
            synchronized (lock) {
                pause = error == null ? 0 : Math.min(16_000_000_000L, Math.max(1_000_000_000L, 2 * pause));
                failed = service.nanos.getAsLong();
            }
        });
        return running;
    }
}
