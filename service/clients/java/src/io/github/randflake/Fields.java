package io.github.randflake;

import java.time.Instant;

/**
 * What an ID holds.
 *
 * @param time from 2024-10-27 03:33:20 to 2058-11-05 17:10:23 UTC; an ID has its whole second
 * @param node 0 to 131,071
 * @param sequence 0 to 131,071
 */
public record Fields(Instant time, int node, int sequence) {
    /** @throws IllegalArgumentException if a field is out of range */
    public Fields {
        Id.check("second", time.getEpochSecond(), Id.FIRST_SECOND, Id.LAST_SECOND);
        Id.check("node", node, 0, Id.MAX);
        Id.check("sequence", sequence, 0, Id.MAX);
    }
}
