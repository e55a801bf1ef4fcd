package io.github.randflake;

/** What tests replace. As programs have no subclass of it, its calls are inlined. */
class Clock {
    long nanos() { return System.nanoTime(); }

    long unixSecond() { return Math.floorDiv(System.currentTimeMillis(), 1000); }

    /** Returns the last second that a lease may be used for. */
    long lastSecond(long highWater) { return highWater; }
}
