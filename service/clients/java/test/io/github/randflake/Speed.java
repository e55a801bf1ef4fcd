package io.github.randflake;

import java.util.UUID;

/** Prints how many IDs one thread makes in a second, and how many UUIDs: the best of twenty tenths of a second. */
public final class Speed {
    public static void main(String[] args) {
        Service service = new Service("none", "http://localhost") {
            @Override
            Limits limits() { return new Limits(3600, 5, ""); }

            @Override
            long take(long window, int nodes, long seconds) { return 0; }
        };
        Generator generator = new Generator(service, Secret.parse("0123".repeat(8)), 1 << 17);
        long[] ids = new long[1000];
        Runnable[] calls = {generator::generate, () -> generator.fill(ids), UUID::randomUUID};
        double[] best = new double[calls.length];
        for (int i = 0; i < 20 * calls.length; i++) {
            long begin = System.nanoTime(), n = 0;
            for (; System.nanoTime() - begin < 100_000_000; n += i % 3 == 1 ? 1000 : 1) calls[i % 3].run();
            best[i % 3] = Math.max(best[i % 3], n * 1e9 / (System.nanoTime() - begin));
        }
        System.out.printf("a second: generate %.0f, fill %.0f, UUID %.0f; ratios to UUID: %.2f and %.2f%n",
                best[0], best[1], best[2], best[0] / best[2], best[1] / best[2]);
    }
}
