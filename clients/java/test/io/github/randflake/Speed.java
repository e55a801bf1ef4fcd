package io.github.randflake;

import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/** Measures how many IDs a second there are, beside random UUIDs, in one run. */
public final class Speed {
    private static volatile long sink;

    public static void main(String[] args) throws InterruptedException {
        Secret secret = Secret.parse("000102030405060708090a0b0c0d0e0f");
        Generator generator = new Generator(new Service("none", "http://localhost:1"), secret, 1, java.time.Duration.ofMinutes(5));
        generator.leases.value = (new Generator.Lease(0, 1L << 30, 1_800_000_000, 1_900_000_000, System.nanoTime(), new AtomicLong()));
        for (int round = 0; round < 2; round++) { // the first one is for the compiler
            if (round == 1) System.out.println("millions a second, by one thread and by two:");
            measure(round, "generate", 1, generator::generate);
            measure(round, "fill, 1000 at a time", 1000, () -> {
                long[] ids = new long[1000];
                generator.fill(ids);
                return ids[999];
            });
            measure(round, "UUID.randomUUID", 1, () -> UUID.randomUUID().getLeastSignificantBits());
            measure(round, "inspect", 1, () -> secret.inspect(sink).second());
            measure(round, "format and parse", 1, () -> Ids.parse(Ids.format(sink)));
        }
        System.exit(0);
    }

    private static void measure(int round, String name, int each, LongSupplier call) throws InterruptedException {
        double one = rate(1, each, call), two = rate(2, each, call);
        if (round == 1) System.out.printf("%-22s %6.2f %6.2f%n", name, one, two);
    }

    private static double rate(int threads, int each, LongSupplier call) throws InterruptedException {
        AtomicLong calls = new AtomicLong();
        long begin = System.nanoTime(), end = begin + 1_000_000_000;
        Thread[] all = new Thread[threads];
        for (int i = 0; i < threads; i++) {
            all[i] = new Thread(() -> {
                long sum = 0, n = 0;
                for (; System.nanoTime() < end; n += 100) for (int j = 0; j < 100; j++) sum += call.getAsLong();
                sink = sum;
                calls.addAndGet(n);
            });
            all[i].start();
        }
        for (Thread thread : all) thread.join();
        return calls.get() * each / 1e-3 / (System.nanoTime() - begin);
    }
}
