package io.github.randflake;

import java.security.SecureRandom;
import java.time.Duration;
import java.util.HexFormat;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Makes IDs in this process, under leases of randflaked. It is safe for use by many threads, virtual ones included; one
 * for a process is enough. A call waits only where there is no lease: at first, when a lease is used up, and after the
 * service did not answer for a third of the TTL. There is nothing to close: a lease that is not used runs out.
 */
public final class Generator {
    private static final SecureRandom RANDOM = new SecureRandom();
    private static final long SECOND = 1_000_000_000; // in nanoseconds

    private final Service service;
    private final Secret secret;
    private final int nodes;
    private final long ttl; // in seconds
    private final Clock clock;
    final Latest<Lease> leases;
    private String owner; // of a lease that may have been granted, or null
    private long asked;   // when it was first asked for

    /** Makes a generator that leases one node for five minutes at a time. It does not call the service yet. */
    public Generator(Service service, Secret secret) { this(service, secret, 1, Duration.ofMinutes(5)); }

    /**
     * Makes a generator with a number of nodes, each of which is good for 131,072 IDs a second, and with a TTL in whole
     * seconds.
     *
     * @throws IllegalArgumentException if a number is out of range
     */
    public Generator(Service service, Secret secret, int nodes, Duration ttl) { this(service, secret, nodes, ttl, new Clock()); }

    Generator(Service service, Secret secret, int nodes, Duration ttl, Clock clock) {
        this.service = service;
        this.secret = secret;
        this.nodes = (int) Fields.check("nodes", nodes, 1, Fields.MAX + 1);
        this.ttl = Fields.check("whole seconds of the TTL", ttl.getNano() == 0 ? ttl.getSeconds() : 0, 1, 1 << 28);
        this.clock = clock;
        this.leases = new Latest<>(clock, this::acquire);
    }

    /**
     * Returns a new ID.
     *
     * @throws RandflakeException if there is no lease, and the service grants none
     */
    public long generate() {
        long[] id = new long[1];
        fill(id);
        return id[0];
    }

    /**
     * Fills an array with new IDs: with all of them, or it throws.
     *
     * @throws RandflakeException if there is no lease, and the service grants none
     * @throws IllegalArgumentException if the array has no place, or more than 131,072 for each node
     */
    public void fill(long[] ids) {
        Fields.check("number of IDs", ids.length, 1, (long) nodes << 17);
        Lease lease = current();
        long first = lease.claim(ids.length, clock);
        for (; first < 0; first = lease.claim(ids.length, clock)) lease = leases.after(lease);
        for (int i = 0; i < ids.length; i++) ids[i] = secret.cipher.encrypt(lease.raw(first + i));
    }

    /** Returns the lease to use now, and has the next one acquired in time. */
    private Lease current() {
        Lease lease = leases.value;
        long age = lease == null ? 0 : clock.nanos() - lease.asked;
        if (lease == null || age >= ttl * SECOND) return leases.after(lease);
        if (age >= ttl * SECOND / 3 * 2) leases.refresh(lease);
        return lease;
    }

    /** Asks for another lease. One thread at a time calls it, through leases. */
    private Lease acquire() {
        boolean retry = owner != null && clock.nanos() - asked < 60 * SECOND;
        if (!retry) {
            HexFormat hex = HexFormat.of();
            owner = hex.toHexDigits(clock.unixSecond(), 12) + hex.toHexDigits(RANDOM.nextLong()) + hex.toHexDigits((short) RANDOM.nextInt());
            asked = clock.nanos();
        }
        try {
            Lease granted = service.acquire(nodes, ttl, owner, secret.checkValue(), retry, asked, clock);
            owner = null;
            return granted;
        } catch (RandflakeException e) {
            if (!e.unknown) owner = null;
            throw e;
        }
    }

    /** A run of raw values that is ours for ever: places from base on in each second, and how many were claimed. */
    record Lease(long base, long places, long start, long last, long asked, AtomicLong claimed) {
        /** Claims n values at the clock's second, or later in the lease, and returns the place of the first one, or -1. */
        long claim(int n, Clock clock) {
            long now = Math.max(0, Math.min(clock.unixSecond(), last) - start) * places, total = (last - start + 1) * places;
            long first = Math.max(now, claimed.getAndUpdate(c -> Math.max(c, now) > total - n ? c : Math.max(c, now) + n));
            return first > total - n ? -1 : first;
        }

        long raw(long place) { return (start - Fields.FIRST_SECOND + place / places << 34) + base + place % places; }
    }
}
