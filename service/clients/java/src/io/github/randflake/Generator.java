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
    private static final long SECOND = 1_000_000_000; // nanoseconds
    private static final long AHEAD = 180; // seconds of windows that are kept ahead

    private final Secret secret;
    private final int nodes;
    private final long places; // of a second
    private final long began;
    private final Map<Long, Lease> leases = new HashMap<>(); // by window; guarded by this.lock, as is what follows
    private Service.Limits limits; // null before the first call
    private Lease lease; // the one that was used last
    private long turn; // by the monotonic clock, when the windows after that lease are taken
    private long wanted; // the window to take

    /** Nodes that are this generator's alone in the seconds of a window; cursor counts the places that are used. */
    private record Lease(long window, long firstNode, long until, AtomicLong cursor) {}

    /** Places that follow each other, from one in a second on; base is the first sequence number of the nodes. */
    private record Run(long place, long second, long base) {}

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
        Run run = take(() -> claim(ids.length));
        long place = run.place();
        long second = run.second();
        for (int i = 0; i < ids.length; i++) {
            if (place == places) {
                place = 0;
                second++;
            }
            ids[i] = secret.encrypt(second << 34 | run.base() + place);
            place++;
        }
    }

    /** Claims n places that follow each other, or returns null if another lease must be taken first. */
    private Run claim(int n) {
        if (limits == null) return null;
        long width = limits.window();
        long now = service.nanos.getAsLong();
        long second = service.unixSecond.getAsLong();
        wanted = second / width;
        leases.values().removeIf(old -> old.until() - now <= 0);
        Lease used = leases.getOrDefault(wanted, lease); // the last one if the clock was set
        if (used == null || used.until() - now <= 0) return null;
        long start = used.window() * width;
        long held = Math.min(Math.max(second - start, 0), width - 1); // in the window, even if the clock was set
        long first = Math.max(used.cursor.get(), held * places);
        if (first + n > width * places) return null;
        used.cursor.set(first + n);
        if (used != lease) {
            lease = used;
            turn = used.until() - (long) (width * SECOND * ThreadLocalRandom.current().nextDouble(0.1, 0.5));
        }
        plan(Math.max(used.window(), wanted), now);
        return new Run(first % places, start - Id.FIRST_SECOND + first / places, used.firstNode() << 17);
    }

    /** Has the first window taken that has no lease and should have one. */
    private void plan(long present, long now) {
        long width = limits.window();
        long depth = 0;
        if (now - turn >= 0)
            depth = now - began < width * SECOND ? 1 : Math.min(limits.ahead(), (AHEAD + width - 1) / width + 1);
        wanted = present;
        while (leases.containsKey(wanted)) wanted++;
        if (wanted <= present + depth) refresh();
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
            if (!known.check().isEmpty() && !known.check().equals(secret.checkValue()))
                throw new RandflakeException(new RandflakeException.Why("failed_precondition", "WRONG_SECRET"),
                        "the space is for IDs of the secret with the check value " + known.check() + ", not "
                                + secret.checkValue() + ": is it of another environment?");
            window = service.unixSecond.getAsLong() / known.window();
        }
        long asked = service.nanos.getAsLong();
        long second = service.unixSecond.getAsLong();
        long firstNode = service.take(window, nodes, known.window());
        synchronized (lock) {
            limits = known;
            long until = asked + ((window + 1) * known.window() - second) * SECOND;
            leases.put(window, new Lease(window, firstNode, until, new AtomicLong()));
        }
    }
}
