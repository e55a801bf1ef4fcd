package io.github.randflake;

import java.io.Serializable;
import java.time.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.*;

/** Does what the commands of lab/clients/driver_test.go say, for the tests of clients in all languages. */
public final class Driver {
    private static final String FAULT = System.getenv().getOrDefault("FAULT", "");
    private static final Map<String, Long> AHEAD = new ConcurrentHashMap<>(Map.of("clock", 0L, "age", 0L)); // seconds
    private static Driver driver; // null before the first command, and while the environment is bad
    private final List<String> addresses = List.of(System.getenv("ADDRESSES").split(","));
    private final Service service = new Service(System.getenv("SPACE"), FAULT.equals("failover")
            ? addresses.subList(0, 1) : addresses, () -> System.getenv("TOKEN"), Service.HTTP,
            Duration.ofSeconds(Long.parseLong(System.getenv("LIMIT")))) {
        private final Map<Long, Long> firstNodes = new ConcurrentHashMap<>();
        private long width;

        @Override
        Limits limits() {
            Limits real = super.limits();
            width = real.window();
            return FAULT.equals("end") ? new Limits(4_000_000_000L, real.ahead(), real.check()) : real;
        }

        @Override
        long take(long window, int nodes, long seconds) {
            long real = FAULT.equals("end") ? unixSecond.getAsLong() / width : window;
            long firstNode = super.take(real, nodes, width);
            return FAULT.equals("late") ? firstNodes.computeIfAbsent(real, w -> firstNode) : firstNode;
        }
    };
    {
        service.nanos = () -> System.nanoTime() + AHEAD.get("age") * 1_000_000_000;
        service.unixSecond = () -> Instant.now().getEpochSecond() + AHEAD.get("clock");
    }
    private final Secret secret = Secret.parse(System.getenv("SECRET"));
    private final Generator generator = new Generator(service, secret, Integer.parseInt(System.getenv("NODES")));
    private final Minter minter = new Minter(service);

    public static void main(String[] args) {
        new Scanner(System.in).useDelimiter("\n").forEachRemaining(line -> System.out.println(answer(line.split(" "))));
    }

    private static String answer(String[] words) {
        try {
            if (driver == null) driver = new Driver();
            return driver.run(words);
        } catch (Exception | OutOfMemoryError e) {
            Throwable cause = e instanceof ExecutionException ? e.getCause() : e;
            String why = cause instanceof RandflakeException known ? why(known) : "invalid_argument - - -";
            return "error " + why + " " + cause.toString().replaceAll("\\s+", " ");
        }
    }

    private static String why(RandflakeException e) {
        String reason = e.reason().isEmpty() ? "-" : e.reason();
        Object limit = e.limit().isPresent() ? e.limit().getAsLong() : "-";
        return e.code() + " " + reason + " " + e.until().map(i -> "" + i.getEpochSecond()).orElse("-") + " " + limit;
    }

    private String run(String[] words) throws Exception {
        return switch (words[0]) {
            case "generate" -> "ids" + generate(words[1]);
            case "fill" -> {
                long[] ids = new long[Integer.parseInt(words[1])];
                generator.fill(ids);
                yield "ids" + list(LongStream.of(ids));
            }
            case "threads" -> {
                String ids = "ids";
                var all = Collections.<Callable<String>>nCopies(Integer.parseInt(words[1]), () -> generate(words[2]));
                for (Future<String> some : Executors.newCachedThreadPool().invokeAll(all)) ids += some.get();
                yield ids;
            }
            case "copy" -> Stream.of(generator, secret).anyMatch(Serializable.class::isInstance) ? "" : "error copy - - - no";
            case "mint" -> "ids" + list(LongStream.generate(minter::mint).limit(Long.parseLong(words[1])));
            case "next" -> {
                Numbers taken = service.next(words[1], Integer.parseInt(words[2]));
                yield "numbers" + list(taken.numbers().stream().mapToLong(n -> n)) + " in " + taken.period();
            }
            case "format" -> {
                StringBuilder text = new StringBuilder(Id.format(Long.parseLong(words[1])));
                yield "text " + (FAULT.equals("text") ? text.reverse() : text);
            }
            case "parse" -> "id " + Id.parse(words[1]);
            case "inspect" -> {
                Fields fields = secret.inspect(Long.parseLong(words[1]));
                yield "fields " + fields.time().getEpochSecond() + " " + fields.node() + " " + fields.sequence();
            }
            case "compose" -> "id " + secret.compose(
                    new Fields(Instant.ofEpochSecond(Long.parseLong(words[1])), Integer.parseInt(words[2]), Integer.parseInt(words[3])));
            case "secret" -> "check " + Secret.parse(words[1]).checkValue();
            case "clock", "age" -> {
                AHEAD.put(words[0], Long.parseLong(words[1]));
                yield "ok";
            }
            default -> "unsupported";
        };
    }

    private String generate(String n) { return list(LongStream.generate(generator::generate).limit(Long.valueOf(n))); }

    private static String list(LongStream ids) { return ids.mapToObj(n -> " " + n).collect(Collectors.joining()); }
}
