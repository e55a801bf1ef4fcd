package io.github.randflake;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.NotSerializableException;
import java.io.ObjectOutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/** Does what the commands of clients/README.md say, for the tests of clients in all languages. */
public final class Driver {
    /** A clock that can be set, and where faults are planted. */
    static final class TestClock extends Clock {
        volatile long ahead, older; // seconds
        final String fault;

        TestClock(String fault) { this.fault = fault; }

        @Override
        long nanos() { return fault.equals("end") ? 0 : super.nanos() + older * 1_000_000_000; }

        @Override
        long unixSecond() { return super.unixSecond() + ahead; }

        @Override
        long lastSecond(long highWater) {
            return fault.equals("end") || fault.equals("clamp") ? Fields.LAST_SECOND : highWater;
        }
    }

    private final TestClock clock = new TestClock(variable("FAULT", ""));
    private Secret secret;
    private Service service;
    private Generator generator;
    private Minter minter;

    public static void main(String[] args) throws IOException {
        Driver driver = new Driver();
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            System.out.println(driver.answer(line).replaceAll("\\s+", " "));
            System.out.flush();
        }
        System.exit(0);
    }

    private String answer(String line) {
        try {
            String[] words = line.split(" ", 2);
            return run(words[0], words.length > 1 ? words[1] : "");
        } catch (RandflakeException e) {
            return "error " + e.code() + " " + e.getMessage();
        } catch (IllegalArgumentException | NegativeArraySizeException | OutOfMemoryError e) {
            return "error invalid_argument " + e;
        } catch (Exception e) {
            return "error unknown " + e;
        }
    }

    private String run(String command, String rest) throws Exception {
        String[] words = rest.split(" ");
        switch (command) {
            case "generate":
                return "ids" + list(generate(number(words[0])));
            case "fill":
                long[] ids = new long[number(words[0])];
                generator().fill(ids);
                return "ids" + list(ids);
            case "threads":
                return "ids" + threads(number(words[0]), number(words[1]));
            case "copy":
                return copy();
            case "mint":
                if (minter == null) minter = new Minter(service(), 512, clock);
                long[] minted = new long[number(words[0])];
                for (int i = 0; i < minted.length; i++) minted[i] = minter.next();
                return "ids" + list(minted);
            case "next":
                return "numbers" + list(service().next(words[0], number(words[1])));
            case "format":
                String text = Ids.format(Long.parseLong(rest));
                return "text " + (clock.fault.equals("text") ? new StringBuilder(text).reverse() : text);
            case "parse":
                return "id " + Ids.parse(rest);
            case "inspect":
                Fields fields = secret().inspect(Long.parseLong(rest));
                return "fields " + fields.second() + " " + fields.node() + " " + fields.sequence();
            case "compose":
                return "id " + secret().compose(Long.parseLong(words[0]), number(words[1]), number(words[2]));
            case "secret":
                return "check " + Secret.parse(rest).checkValue();
            case "clock":
                clock.ahead = Long.parseLong(rest);
                return "ok";
            case "age":
                clock.older = Long.parseLong(rest);
                return "ok";
            default:
                return "unsupported";
        }
    }

    private long[] generate(int n) {
        Generator generator = generator();
        long[] ids = new long[n];
        for (int i = 0; i < n; i++) ids[i] = generator.generate();
        return ids;
    }

    private String threads(int threads, int n) throws Exception {
        generator();
        ExecutorService executor = Executors.newFixedThreadPool(threads);
        try {
            List<Callable<long[]>> tasks = new ArrayList<>();
            for (int i = 0; i < threads; i++) tasks.add(() -> generate(n));
            StringBuilder all = new StringBuilder();
            for (Future<long[]> ids : executor.invokeAll(tasks)) all.append(list(ids.get()));
            return all.toString();
        } catch (ExecutionException e) {
            throw e.getCause() instanceof RuntimeException known ? known : e;
        } finally {
            executor.shutdown();
        }
    }

    private String copy() throws IOException {
        for (Object object : List.of(generator(), secret())) {
            try (ObjectOutputStream out = new ObjectOutputStream(new ByteArrayOutputStream())) {
                out.writeObject(object);
                return "ids";
            } catch (NotSerializableException e) {
                // as it should be
            }
        }
        return "error copy neither the generator nor the secret is serializable or cloneable";
    }

    private synchronized Generator generator() {
        if (generator == null)
            generator = new Generator(service(), secret(), number(variable("NODES", "1")), Duration.ofSeconds(number(variable("TTL", "300"))), clock);
        return generator;
    }

    private Secret secret() {
        if (secret == null) secret = Secret.parse(variable("SECRET", ""));
        return secret;
    }

    private Service service() {
        if (service == null) {
            List<String> addresses = List.of(variable("ADDRESSES", "").split(","));
            if (clock.fault.equals("failover")) addresses = addresses.subList(0, 1);
            String token = variable("TOKEN", "");
            service = new Service(variable("SPACE", ""), addresses, token.isEmpty() ? null : () -> token, null, Duration.ofSeconds(number(variable("LIMIT", "10"))));
        }
        return service;
    }

    private static String variable(String name, String otherwise) {
        String value = System.getenv(name);
        return value == null || value.isEmpty() ? otherwise : value;
    }

    private static int number(String text) { return Integer.parseInt(text); }

    private static String list(long[] numbers) {
        return LongStream.of(numbers).mapToObj(n -> " " + n).collect(Collectors.joining());
    }
}
