package io.github.randflake;

import java.util.*;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.LongSupplier;

/** Keeps a buffer of IDs that the service makes, without the secret. It is safe for use by many threads. */
public final class Minter {
    private final LongSupplier nanos;
    private final Queue<Minted> buffer = new LinkedBlockingQueue<>();
    private final Latest<Object> calls; // their results differ, and stand in the buffer

    /** Makes a minter, which asks for 512 IDs at a time. It does not call the service yet. */
    public Minter(Service service) {
        this.nanos = service.nanos;
        this.calls = new Latest<>(nanos, () -> {
            long asked = nanos.getAsLong();
            Map<String, Object> fields = Map.of("space", service.space, "count", 512, "form", "FORM_NUMBER");
            for (long id : service.numbers("IDService/Mint", 512, fields)) buffer.add(new Minted(id, asked));
            return new Object();
        });
    }

    /** Returns a new ID, unless there is none in the buffer, and the service makes none. */
    public long next() {
        while (true) {
            Object seen = calls.value;
            Minted minted = buffer.poll();
            if (buffer.size() <= 128) calls.refresh(seen);
            if (minted == null) calls.after(seen);
            else if (nanos.getAsLong() - minted.asked < 300_000_000_000L) return minted.id;
        }
    }

    private record Minted(long id, long asked) {}
}
