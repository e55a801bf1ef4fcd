package io.github.randflake;

import java.util.*;

/** Keeps a buffer of IDs that the service makes, without the secret. It is safe for use by many threads. */
public final class Minter extends Latest {
    private final Queue<long[]> buffer = new ArrayDeque<>(); // IDs, and when they were asked for
    private volatile int batch;

    /** Makes a minter, which asks for 512 IDs at a time. It does not call the service yet. */
    public Minter(Service service) { this(service, 512); }

    /** Makes a minter that asks for batch IDs at a time, or for as many as the service allows in a call. */
    public Minter(Service service, int batch) {
        super(service);
        this.batch = (int) Id.check("batch", batch, 1, 65_536);
    }

    @Override
    void call() {
        long asked = service.nanos.getAsLong();
        while (true) {
            try {
                int count = batch;
                Map<String, Object> fields = Map.of("space", service.space, "count", count, "format", "FORMAT_NUMBER");
                List<Long> ids = service.call("IDService/Mint", fields, answer -> Service.numbers(answer, count));
                synchronized (lock) {
                    for (long id : ids) buffer.add(new long[] {id, asked});
                }
                return;
            } catch (RandflakeException e) {
                long limit = e.limit().orElse(0);
                if (limit < 1 || limit >= batch) throw e;
                batch = (int) limit;
            }
        }
    }

    /** Returns a new ID, or throws if the buffer is empty and the service makes no IDs. */
    public long mint() {
        return take(() -> {
            long now = service.nanos.getAsLong();
            while (!buffer.isEmpty() && now - buffer.peek()[1] >= 300_000_000_000L) buffer.remove();
            if (buffer.isEmpty()) return null;
            long id = buffer.remove()[0];
            if (buffer.size() <= batch / 4) refresh();
            return id;
        });
    }
}
