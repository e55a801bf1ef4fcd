package io.github.randflake;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Has IDs made by the service, and keeps some of them in a buffer, for five minutes at most. It needs no secret, and is
 * safe for use by many threads.
 */
public final class Minter {
    private final Clock clock;
    private final int size;
    private final Latest<Batch> batches;
    private volatile Batch current; // the newest one, or the one before

    /** Makes a minter that asks for 512 IDs at a time. It does not call the service yet. */
    public Minter(Service service) { this(service, 512); }

    /** Makes a minter that asks for size IDs at a time, for callers whose limit is lower. */
    public Minter(Service service, int size) { this(service, size, new Clock()); }

    Minter(Service service, int size, Clock clock) {
        this.size = (int) Fields.check("size", size, 1, Service.MOST);
        this.clock = clock;
        this.batches = new Latest<>(clock, () -> new Batch(clock.nanos(), service.mint(size), new AtomicLong()));
    }

    /**
     * Returns a new ID.
     *
     * @throws RandflakeException if the buffer is empty, and the service makes none
     */
    public long next() {
        for (Batch batch = current;; batch = current) {
            if (batch != null && clock.nanos() - batch.asked < 300_000_000_000L) {
                long at = batch.used.get() < size ? batch.used.getAndIncrement() : size;
                if (at >= size * 3L / 4) batches.refresh(batch);
                if (at < size) return batch.ids[(int) at];
            }
            current = batches.value == batch ? batches.after(batch) : batches.value;
        }
    }

    private record Batch(long asked, long[] ids, AtomicLong used) {}
}
