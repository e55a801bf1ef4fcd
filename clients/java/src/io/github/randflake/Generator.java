package io.github.randflake;

import java.security.SecureRandom;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Makes IDs in this process, under leases of randflaked. It is safe for use by many threads, virtual ones included; one
 * for a process is enough. A call waits only where there is no lease: at first, when a lease is used up, and after the
 * service did not answer for a third of the TTL. There is nothing to close: a lease that is not used runs out.
 */
public final class Generator extends Latest<Generator.Lease> {
    private static final long SECOND = 1_000_000_000; // in nanoseconds

    private final Secret secret;
    private final int nodes;
    private final long ttl; // in nanoseconds
    private String owner; // of a lease that may have been granted, or null
    private long asked; // when it was first asked for

    /** Makes a generator that leases one node for five minutes at a time. It does not call the service yet. */
    public Generator(Service service, Secret secret) { this(service, secret, 1, Duration.ofMinutes(5)); }

    /** Makes a generator with a number of nodes, each good for 131,072 IDs a second, and a TTL of whole seconds. */
    public Generator(Service service, Secret secret, int nodes, Duration ttl) {
        super(service);
        this.secret = secret;
        this.nodes = (int) Id.check("nodes", nodes, 1, Id.MAX + 1);
        this.ttl = Id.check("seconds of the TTL", ttl.getNano() == 0 ? ttl.toSeconds() : 0, 1, 1 << 28) * SECOND;
    }

    /** Returns a new ID, or throws a {@link RandflakeException} if there is no lease, and the service grants none. */
    public long generate() {
        long[] id = new long[1];
        fill(id);
        return id[0];
    }

    /** Fills an array of 1 to 131,072 for each node with new IDs: with all of them, or it throws. */
    public void fill(long[] ids) {
        Id.check("number of IDs", ids.length, 1, (long) nodes << 17);
        Lease lease = newest;
        long age = lease == null ? ttl : service.nanos.getAsLong() - lease.asked;
        if (age >= ttl) lease = after(lease);
        else if (age >= ttl / 3 * 2) refresh(lease);
        long first = lease.claim(ids.length, service.unixSecond.getAsLong());
        while (first < 0) {
            lease = after(lease);
            first = lease.claim(ids.length, service.unixSecond.getAsLong());
        }
        for (int i = 0; i < ids.length; i++) ids[i] = secret.encrypt(lease.raw(first + i));
    }

    /** Asks for another lease. Only one thread at a time does. */
    @Override
    Lease call() {
        boolean retry = owner != null && service.nanos.getAsLong() - asked < 60 * SECOND;
        if (!retry) {
            byte[] random = new byte[10];
            new SecureRandom().nextBytes(random);
            HexFormat hex = HexFormat.of();
            owner = hex.toHexDigits(service.unixSecond.getAsLong(), 12) + hex.formatHex(random);
            asked = service.nanos.getAsLong();
        }
        try {
            Map<String, Object> request = Map.of("space", service.space, "nodes", nodes, "ttlSeconds", ttl / SECOND,
                    "owner", owner, "check", secret.checkValue, "retry", retry);
            Lease granted = service.call("LeaseService/Acquire", request, this::read);
            owner = null;
            return granted;
        } catch (RandflakeException e) {
            if (e.isFinal() && e.getSuppressed().length == 0) owner = null; // else a replica may have granted it
            throw e;
        }
    }

    private Lease read(Json answer) {
        long node = Id.check("firstNode", answer.number("/lease/firstNode"), 0, Id.MAX + 1 - nodes);
        Id.check("lastNode", answer.number("/lease/lastNode"), node + nodes - 1, node + nodes - 1);
        long start = Id.check("start", answer.number("/lease/start"), Id.FIRST_SECOND, Id.LAST_SECOND);
        long last = Id.check("highWater", answer.number("/lease/highWater"), start, Id.LAST_SECOND);
        if (!answer.text("/lease/owner", "").equals(owner)) throw new IllegalArgumentException("another owner");
        return new Lease(node << 17, (long) nodes << 17, start, last, asked, new AtomicLong());
    }

    /** A run of raw values that is ours for ever: places from base on in each second, and how many were claimed. */
    record Lease(long base, long places, long start, long last, long asked, AtomicLong claimed) {
        /** Claims n values at a second, or later in the lease, and returns the place of the first one, or -1. */
        long claim(int n, long second) {
            long least = Math.max(0, Math.min(second, last) - start) * places, most = (last - start + 1) * places - n;
            long before = claimed.getAndUpdate(c -> Math.max(c, least) > most ? c : Math.max(c, least) + n);
            return Math.max(before, least) > most ? -1 : Math.max(before, least);
        }

        long raw(long place) { return (start - Id.FIRST_SECOND + place / places << 34) + base + place % places; }
    }
}
