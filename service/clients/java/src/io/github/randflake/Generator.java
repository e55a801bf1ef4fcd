package io.github.randflake;

import java.util.*;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Makes IDs in this process, under leases of randflaked. It is safe for use by many threads, virtual ones included; one
 * for a process is enough. Only the first ID waits for the service: a thread takes the next windows in time. There is
 * nothing to close.
 */
public final class Generator extends Latest {
    private static final long SECOND = 1_000_000_000, AHEAD = 180; // nanoseconds; seconds of windows that are kept ahead

    private final Secret secret;
    private final int nodes;
    private final long places; // of a second
    private final long began;
    private final Map<Long, Lease> leases = new HashMap<>(); // by window; guarded by this.lock, as is what follows
    private Service.Limits limits; // null before the first call
    private Lease lease; // the one that was used last
    private long turn; // by the monotonic clock, when the windows after it are taken
    private long wanted; // the window to take

    /** Nodes that nobody else has in the seconds of a window; cursor tells how many of their places are used. */
    private record Lease(long window, long firstNode, long until, AtomicLong cursor) {}

    /** Makes a generator that leases one node. It does not call the service yet. */
    public Generator(Service service, Secret secret) { this(service, secret, 1); }

    /** Makes a generator with a number of nodes, each good for 131,072 IDs a second. */
    public Generator(Service service, Secret secret, int nodes) {
        super(service);
        this.secret = secret;
        this.nodes = (int) Id.check("nodes", nodes, 1, Id.MAX + 1);
        this.places = (long) nodes << 17;
        this.began = service.nanos.getAsLong();
    }

    /** Returns a new ID, or throws a {@link RandflakeException} if there is no lease, and the service grants none. */
    public long generate() {
        long[] id = new long[1];
        fill(id);
        return id[0];
    }

    /** Fills an array of 1 to 131,072 for each node with new IDs: with all of them, or it throws. */
    public void fill(long[] ids) {
        Id.check("number of IDs", ids.length, 1, places);
        long[] run = take(() -> claim(ids.length));
        long place = run[0], second = run[1], base = run[2];
        for (int i = 0; i < ids.length; i++, place++) {
            if (place == places) {
                place = 0;
                second++;
            }
            ids[i] = secret.encrypt(second << 34 | base + place);
        }
    }

    /** Claims n places that follow each other: returns the first one, its second and the nodes, or null. */
    private long[] claim(int n) {
        if (limits == null) return null;
        long width = limits.window(), now = service.nanos.getAsLong(), second = service.unixSecond.getAsLong();
        wanted = second / width;
        leases.values().removeIf(old -> old.until() - now <= 0);
        Lease used = leases.getOrDefault(wanted, lease); // after the last one if the clock was set
        if (used == null || used.until() - now <= 0) return null;
        long start = used.window() * width, held = Math.min(Math.max(second - start, 0), width - 1);
        long first = Math.max(used.cursor.get(), held * places);
        if (first + n > width * places) return null;
        used.cursor.set(first + n);
        if (used != lease) {
            lease = used;
            turn = used.until() - (long) (width * SECOND * ThreadLocalRandom.current().nextDouble(0.1, 0.5));
        }
        long present = Math.max(used.window(), wanted), depth = 0;
        if (now - turn >= 0) depth = now - began < width * SECOND ? 1 : Math.min(limits.ahead(), (AHEAD + width - 1) / width + 1);
        for (wanted = present; leases.containsKey(wanted);) wanted++;
        if (wanted <= present + depth) refresh();
        return new long[] {first % places, start - Id.FIRST_SECOND + first / places, used.firstNode() << 17};
    }

    /** Takes the window that is wanted. Only one thread at a time does. */
    @Override
    void call() {
        long window;
        Service.Limits known;
        synchronized (lock) {
            window = wanted;
            known = limits;
        }
        if (known == null) {
            known = service.limits();
            if (!known.check().isEmpty() && !known.check().equals(secret.checkValue))
                throw new RandflakeException("failed_precondition", "randflake: the space is for IDs of the secret with the"
                        + " check value " + known.check() + ", not " + secret.checkValue + ": is it of another environment?", null);
            window = service.unixSecond.getAsLong() / known.window();
        }
        long asked = service.nanos.getAsLong(), second = service.unixSecond.getAsLong();
        long firstNode = service.take(window, nodes, known.window());
        synchronized (lock) {
            limits = known;
            long until = asked + ((window + 1) * known.window() - second) * SECOND;
            leases.put(window, new Lease(window, firstNode, until, new AtomicLong()));
        }
    }
}
