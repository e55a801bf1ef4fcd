package io.github.randflake;

import java.util.List;

/**
 * Numbers of a counter.
 *
 * @param numbers in order
 * @param period in which they are, such as "2026-11-26", if the counter begins again with each, or else empty
 */
public record Numbers(List<Long> numbers, String period) {}
