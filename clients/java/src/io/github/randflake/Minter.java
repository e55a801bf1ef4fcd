package io.github.randflake;

import java.util.*;
import java.util.concurrent.LinkedBlockingQueue;

/** Keeps a buffer of IDs that the service makes, without the secret. It is safe for use by many threads. */
public final class Minter extends Latest<Object> {
    private final Queue<Minted> buffer = new LinkedBlockingQueue<>();

    /** Makes a minter, which asks for 512 IDs at a time. It does not call the service yet. */
    public Minter(Service service) { super(service); }

    /** Fills the buffer, and returns something new. */
    @Override
    Object call() {
        long asked = service.nanos.getAsLong();
        Map<String, Object> fields = Map.of("space", service.space, "count", 512, "form", "FORM_NUMBER");
        for (long id : service.numbers("IDService/Mint", 512, fields)) buffer.add(new Minted(id, asked));
        return new Object();
    }

    /** Returns a new ID, unless there is none in the buffer, and the service makes none. */
    public long next() {
        while (true) {
            Object seen = newest;
            Minted minted = buffer.poll();
            if (minted != null && buffer.size() <= 128) refresh(seen);
            if (minted == null) after(seen);
            else if (service.nanos.getAsLong() - minted.asked < 300_000_000_000L) return minted.id;
        }
    }

    private record Minted(long id, long asked) {}
}
