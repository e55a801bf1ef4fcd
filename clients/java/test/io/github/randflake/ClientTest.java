package io.github.randflake;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.NotSerializableException;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** The tests of this client alone. Its argument is the directory testdata of the repository. */
public final class ClientTest {
    private static final Secret SECRET = Secret.parse("dffd6021bb2bd5b0af676290809ec3a5");
    private static String testdata;

    interface Test {
        void run() throws Exception;
    }

    public static void main(String[] args) throws Exception {
        testdata = args[0];
        System.setProperty("sun.net.httpserver.nodelay", "true");
        Map<String, Test> tests = Map.ofEntries(
                Map.entry("cipher", ClientTest::cipher), Map.entry("ids", ClientTest::ids), Map.entry("secrets", ClientTest::secrets),
                Map.entry("json", ClientTest::json), Map.entry("claims", ClientTest::claims), Map.entry("arguments", ClientTest::arguments),
                Map.entry("threads", ClientTest::threads), Map.entry("outage", ClientTest::outage), Map.entry("overflow", ClientTest::overflow),
                Map.entry("answers", ClientTest::answers), Map.entry("interrupts", ClientTest::interrupts), Map.entry("tls", ClientTest::tls),
                Map.entry("minter", ClientTest::minter), Map.entry("serialization", ClientTest::serialization));
        for (String name : args.length > 1 ? List.of(args[1]) : tests.keySet().stream().sorted().toList()) {
            long begin = System.nanoTime();
            tests.get(name).run();
            System.out.printf("ok %s, %d ms%n", name, (System.nanoTime() - begin) / 1_000_000);
        }
        System.exit(0);
    }

    // What needs no service.

    private static Map<String, List<String>> vectors(String file) throws IOException {
        return Json.read(Files.readString(Path.of(testdata, file)));
    }

    private static void cipher() throws IOException {
        Map<String, List<String>> v = vectors("sparx64.json");
        int n = v.get("2 key").size() - 1; // the last one is of the chain
        must(n > 20, n + " vectors");
        Sparx chain = new Sparx(HexFormat.of().parseHex(v.get("2 key").get(n)));
        long text = Long.reverseBytes(Long.parseUnsignedLong(v.get("2 plaintext").get(n), 16));
        for (int i = Integer.parseInt(v.get("2 iterations").get(0)); i > 0; i--) text = chain.encrypt(text);
        must(text == Long.reverseBytes(Long.parseUnsignedLong(v.get("2 ciphertext").get(n), 16)), "the chain");
        for (int i = 0; i < n; i++) {
            Sparx sparx = new Sparx(HexFormat.of().parseHex(v.get("2 key").get(i)));
            long plain = Long.reverseBytes(Long.parseUnsignedLong(v.get("2 plaintext").get(i), 16));
            long encrypted = Long.reverseBytes(Long.parseUnsignedLong(v.get("2 ciphertext").get(i), 16));
            must(sparx.encrypt(plain) == encrypted && sparx.decrypt(encrypted) == plain, "vector " + i);
        }
        for (long block = 1, i = 0; i < 100_000; i++, block = block * 6364136223846793005L + 1)
            must(SECRET.cipher.decrypt(SECRET.cipher.encrypt(block)) == block, "block " + block);
    }

    private static void ids() throws IOException {
        Map<String, List<String>> v = vectors("randflake.json");
        for (int i = 0; i < v.get("2 id").size(); i++) {
            long id = Long.parseLong(v.get("2 id").get(i));
            must(Ids.format(id).equals(v.get("2 text").get(i)) && Ids.parse(v.get("2 text").get(i)) == id, "text of " + id);
            must(Long.parseUnsignedLong(Long.toUnsignedString(id)) == id, "unsigned " + id);
            if (v.get("2 secret").get(i).matches("0+")) continue;
            Secret secret = Secret.parse(v.get("2 secret").get(i));
            Fields fields = new Fields(Long.parseLong(v.get("2 timestamp").get(i)), Integer.parseInt(v.get("2 node").get(i)), Integer.parseInt(v.get("2 sequence").get(i)));
            must(secret.inspect(id).equals(fields) && secret.compose(fields.second(), fields.node(), fields.sequence()) == id, "fields of " + id);
            must(Long.toUnsignedString(fields.raw()).equals(v.get("2 raw").get(i)), "raw value of " + id);
        }
        for (String bad : List.of("", "w", "A", "00", "01", "g000000000000", "10000000000000", "-1", "+1", " 1", "1\n", "1=", "\u0661"))
            refused("Ids.parse " + bad, () -> Ids.parse(bad));
        must(Ids.parse("fvvvvvvvvvvvv") == -1 && Ids.parse("0") == 0, "the largest text");
    }

    private static void secrets() {
        for (String text : List.of("DFFD6021bb2bd5b0af676290809ec3a5", "3/1gIbsr1bCvZ2KQgJ7DpQ==", "3_1gIbsr1bCvZ2KQgJ7DpQ", "3_1gIbsr1bCvZ2KQgJ7DpQ==", "3/1gIbsr1bCvZ2KQgJ7DpQ"))
            must(Secret.parse(text).hex().equals(SECRET.hex()), "a form of the secret");
        for (String bad : List.of("", "3/1gIbsr1bCvZ2KQgJ7DpQ=", "3/1gIbsr1bCvZ2KQgJ7DpR", "3/_gIbsr1bCvZ2KQgJ7DpQ", "00000000000000000000000000000000",
                "AAAAAAAAAAAAAAAAAAAAAA", SECRET.hex() + "\n", SECRET.hex().substring(1)))
            must(bad.isEmpty() || !refused("a secret", () -> Secret.parse(bad)).contains(bad), "an error shows a secret");
        must(SECRET.toString().equals("Secret[redacted]"), "toString of a secret");
        refused("second", () -> SECRET.compose(Fields.FIRST_SECOND - 1, 0, 0));
        refused("node", () -> SECRET.compose(Fields.FIRST_SECOND, Fields.MAX + 1, 0));
        refused("sequence", () -> SECRET.compose(Fields.FIRST_SECOND, 0, -1));
    }

    private static void json() {
        must(Json.write("a", "x\"\\\n\u0001é", "b", 3, "c", true).equals("{\"a\":\"x\\u0022\\u005c\\u000a\\u0001é\",\"b\":3,\"c\":true}"), "write");
        Map<String, List<String>> v = Json.read("{ \"a\" : \"\\\"\\\\\\/\\b\\n\\u00e9\\u0041\", \"o\":{\"a\":-1,\"l\":[ \"1\" , 2]},\"e\":[],\"z\":{} }");
        must(v.get("1 a").equals(List.of("\"\\/\b\né\u0041")) && v.get("2 a").equals(List.of("-1")) && v.get("2 l").equals(List.of("1", "2")), "read: " + v);
        must(Json.read("{\"a\":\"" + "\\n".repeat(1_000_000) + "\"}").get("1 a").get(0).length() == 1_000_000, "a long text");
        for (String bad : List.of("", "[]", "{", "{\"a\":\"b}", "{}}", "x", "{\"a\":\"\\u00g0\"}", "{\"a\":\"\\q\"}", "{\"a\":#}", "[".repeat(1_000_000)))
            refused("JSON", () -> Json.read(bad));
    }

    private static void claims() {
        Driver.TestClock clock = new Driver.TestClock("");
        long now = clock.unixSecond(), places = 2 << 17;
        Generator.Lease lease = new Generator.Lease(7 << 17, places, now + 10, now + 12, 0, new AtomicLong());
        must(lease.claim(1, clock) == 0 && lease.claim(5, clock) == 1, "before the start");
        clock.ahead = 11;
        must(lease.claim(1, clock) == places, "a second later");
        clock.ahead = -11;
        must(lease.claim(1, clock) == places + 1, "a clock that stepped back");
        clock.ahead = 1000;
        must(lease.claim((int) places + 1, clock) == -1 && lease.claim((int) places, clock) == 2 * places && lease.claim(1, clock) == -1, "the last second");
        Fields last = Fields.of(lease.raw(3 * places - 1));
        must(last.equals(new Fields(now + 12, 8, Fields.MAX)), "the last place is " + last);
        clock.ahead = Integer.MAX_VALUE;
        Generator.Lease huge = new Generator.Lease(0, 1L << 34, Fields.FIRST_SECOND, Fields.LAST_SECOND, 0, new AtomicLong());
        must(huge.claim(1, clock) == -1, "a lease of all there is overflows");
    }

    private static void arguments() {
        Service service = new Service("demo", "http://localhost:1");
        Generator generator = new Generator(service, SECRET, 1, Duration.ofSeconds(1));
        refused("fill", () -> generator.fill(new long[0]));
        refused("fill", () -> generator.fill(new long[(1 << 17) + 1]));
        for (int n : new int[] {0, -1, 65_537}) refused("mint", () -> service.mint(n));
        for (int n : new int[] {0, -1, 65_537}) refused("next", () -> service.next("a", n));
        for (int nodes : new int[] {0, -1, 131_073}) refused("nodes", () -> new Generator(service, SECRET, nodes, Duration.ofSeconds(1)));
        for (Duration ttl : List.of(Duration.ZERO, Duration.ofSeconds(-1), Duration.ofMillis(1500), Duration.ofDays(10_000)))
            refused("TTL", () -> new Generator(service, SECRET, 1, ttl));
        for (String address : List.of("", "localhost", "ftp://a", "http://", "http://u:p@a", "http://a?b", "http://a#b", "http://a b"))
            must(!refused("address", () -> new Service("demo", address)).contains("u:p"), "an error shows a password");
        refused("no address", () -> new Service("demo"));
    }

    // What needs a service.

    /** A service that grants leases, unless it is told to answer otherwise. */
    static final class Fake implements AutoCloseable {
        final HttpServer server;
        final List<Map<String, List<String>>> asked = new ArrayList<>();
        final AtomicInteger connections = new AtomicInteger();
        final Set<Object> seen = ConcurrentHashMap.newKeySet();
        volatile Test before = () -> {};
        volatile String answer; // of status 503, instead of a good one
        private int granted;

        Fake(HttpServer server) throws IOException {
            this.server = server;
            server.bind(new InetSocketAddress("localhost", 0), 0);
            server.setExecutor(Executors.newCachedThreadPool());
            server.createContext("/", this::handle);
            server.start();
        }

        String address() { return "http://localhost:" + server.getAddress().getPort(); }

        private void handle(HttpExchange call) throws IOException {
            if (seen.add(call.getRemoteAddress())) connections.incrementAndGet();
            Map<String, List<String>> request = Json.read(new String(call.getRequestBody().readAllBytes(), StandardCharsets.UTF_8));
            String good;
            synchronized (this) {
                asked.add(request);
                int count = Integer.parseInt(request.getOrDefault("1 count", List.of("0")).get(0));
                long second = System.currentTimeMillis() / 1000;
                good = count > 0 ? "{\"numbers\":[" + IntStream.range(0, count).mapToObj(i -> "\"" + (granted + i) + "\"").collect(Collectors.joining(",")) + "]}"
                        : String.format("{\"lease\":{\"firstNode\":%d,\"lastNode\":%d,\"owner\":\"%s\",\"start\":\"%d\",\"highWater\":\"%d\",\"version\":\"1\"}}",
                        granted, granted, request.get("1 owner").get(0), second, second + 299);
                granted += Math.max(count, 1);
            }
            try {
                before.run();
            } catch (Exception e) {
                throw new IOException(e);
            }
            byte[] body = (answer != null ? answer : good).getBytes(StandardCharsets.UTF_8);
            call.sendResponseHeaders(answer != null ? 503 : 200, body.length);
            call.getResponseBody().write(body);
            call.close();
        }

        @Override
        public void close() { server.stop(0); }
    }

    private static void threads() throws Exception {
        try (Fake fake = new Fake(HttpServer.create())) {
            Generator generator = new Generator(new Service("demo", fake.address()), SECRET);
            Set<Long> all = ConcurrentHashMap.newKeySet();
            fake.before = () -> Thread.sleep(100);
            parallel(8, () -> {
                for (int i = 0; i < 5000; i++) must(all.add(generator.generate()), "an ID was made twice");
                long[] ids = new long[3000];
                generator.fill(ids);
                for (long id : ids) must(all.add(id), "an ID was made twice");
            });
            must(all.size() == 64_000 && fake.asked.size() == 1, fake.asked.size() + " acquisitions");
        }
    }

    private static void outage() throws Exception {
        try (Fake fake = new Fake(HttpServer.create())) {
            Driver.TestClock clock = new Driver.TestClock("");
            Generator generator = new Generator(new Service("demo", fake.address()), SECRET, 1, Duration.ofSeconds(300), clock);
            int old = SECRET.inspect(generator.generate()).node();
            fake.answer = "{\"code\":\"unavailable\",\"message\":\"later\"}";
            clock.older = 200;
            for (int i = 0; i < 1000; i++) must(SECRET.inspect(generator.generate()).node() == old, "another node");
            clock.older = 299;
            must(SECRET.inspect(generator.generate()).node() == old, "another node");
            clock.older = 300;
            must(failure(generator::generate) instanceof RandflakeException.Unavailable e && e.code().equals("unavailable"), "no error at the end of a lease");
            fake.answer = "{\"code\":\"resource_exhausted\",\"message\":\"no range\"}";
            must(failure(generator::generate) instanceof RandflakeException.Refused e && e.code().equals("resource_exhausted"), "no error at the end of a lease");
            fake.answer = null;
            must(SECRET.inspect(generator.generate()).node() != old, "the same node");
        }
    }

    private static void overflow() throws Exception {
        try (Fake fake = new Fake(HttpServer.create())) {
            Driver.TestClock clock = new Driver.TestClock("");
            Generator generator = new Generator(new Service("demo", fake.address()), SECRET, 1, Duration.ofSeconds(300), clock);
            generator.generate();
            clock.ahead = 100_000; // only a lease's last second is left
            long[] ids = new long[131_072];
            generator.fill(ids);
            must(Arrays.stream(ids).distinct().count() == ids.length && fake.asked.size() == 1, "a second of IDs");
            generator.generate();
            generator.fill(ids);
            must(fake.asked.size() == 3, fake.asked.size() + " leases");
        }
    }

    private static void answers() throws Exception {
        try (Fake fake = new Fake(HttpServer.create())) {
            Service service = new Service("demo", List.of(fake.address()), () -> "hush-hush", null, Duration.ofSeconds(2));
            fake.answer = "{\"code\":\"internal\",\"message\":\"you said hush-hush\\n" + "x".repeat(1000) + "\"}";
            String message = failure(() -> service.mint(1)).getMessage();
            must(!message.contains("hush") && !message.contains("\n") && message.length() < 500 && message.contains("[redacted]"), message);
            fake.answer = null;
            for (int i = 0; i < 50; i++) must(service.next("a", 3).length == 3 && service.mint(65_536).length == 65_536, "numbers");
            must(fake.connections.get() == 1, fake.connections + " connections for 101 calls");
            must(failure(() -> new Service("demo", List.of(fake.address()), () -> "a b", null, Duration.ofSeconds(2)).mint(1)) instanceof RandflakeException.Refused, "a token with a blank");
        }
        HttpServer slow = HttpServer.create(new InetSocketAddress("localhost", 0), 0);
        slow.setExecutor(Executors.newCachedThreadPool());
        slow.createContext("/", call -> { // a byte now and then, for ever, or as many as there is room for
            call.sendResponseHeaders(200, 0);
            byte[] some = new byte[call.getRequestURI().getPath().contains("Next") ? 1 << 16 : 1];
            for (int i = 0; i < 1000; i++) {
                call.getResponseBody().write(some);
                call.getResponseBody().flush();
                if (some.length == 1) pause(50);
            }
            call.close();
        });
        slow.start();
        Service service = new Service("demo", List.of("http://localhost:" + slow.getAddress().getPort()), null, null, Duration.ofSeconds(1));
        long begin = System.nanoTime();
        must(failure(() -> service.mint(1)) instanceof RandflakeException.Unavailable, "an answer that does not end");
        must(System.nanoTime() - begin < 10_000_000_000L, "the time limit");
        must(failure(() -> service.next("a", 1)) instanceof RandflakeException.Unavailable, "an answer of 64 MB");
        slow.stop(0);
    }

    private static void interrupts() throws Exception {
        try (Fake fake = new Fake(HttpServer.create())) {
            CountDownLatch asked = new CountDownLatch(2), go = new CountDownLatch(1);
            fake.before = () -> {
                asked.countDown();
                go.await();
            };
            Service service = new Service("demo", fake.address(), fake.address());
            Generator generator = new Generator(service, SECRET);
            List<Thread> threads = List.of(new Thread(() -> interrupted(generator::generate)), new Thread(() -> interrupted(() -> service.mint(1))));
            threads.forEach(Thread::start);
            asked.await();
            threads.forEach(Thread::interrupt);
            for (Thread thread : threads) thread.join();
            must(failed == null, "" + failed);
            go.countDown();
            generator.generate(); // of the acquisition that went on
            must(fake.asked.size() == 2, fake.asked.size() + " calls");
        }
    }

    private static void interrupted(Supplier<?> call) {
        try {
            must(failure(call::get) instanceof RandflakeException.Unavailable && Thread.currentThread().isInterrupted(), "no error of an interrupt");
        } catch (Throwable e) {
            failed = e;
        }
    }

    private static void tls() throws Exception {
        Path store = Files.createTempDirectory("randflake").resolve("store");
        int status = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "keytool").toString(), "-genkeypair", "-alias", "a", "-keyalg", "EC",
                "-dname", "CN=localhost", "-ext", "san=dns:localhost", "-storepass", "password", "-keystore", store.toString()).redirectErrorStream(true).start().waitFor();
        must(status == 0, "keytool");
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(store)) {
            keys.load(in, "password".toCharArray());
        }
        KeyManagerFactory own = KeyManagerFactory.getInstance("PKIX");
        own.init(keys, "password".toCharArray());
        TrustManagerFactory trust = TrustManagerFactory.getInstance("PKIX");
        KeyStore certificates = KeyStore.getInstance("PKCS12");
        certificates.load(null, null);
        certificates.setCertificateEntry("a", keys.getCertificate("a"));
        trust.init(certificates);
        SSLContext server = SSLContext.getInstance("TLS"), client = SSLContext.getInstance("TLS");
        server.init(own.getKeyManagers(), null, null);
        client.init(null, trust.getTrustManagers(), null);
        HttpsServer https = HttpsServer.create();
        https.setHttpsConfigurator(new HttpsConfigurator(server));
        try (Fake fake = new Fake(https)) {
            String address = fake.address().replace("http:", "https:");
            Service service = new Service("demo", List.of(address), null, client, Duration.ofSeconds(10));
            must(service.mint(3).length == 3, "TLS");
            must(failure(() -> new Service("demo", address).mint(1)) instanceof RandflakeException.Unavailable, "an authority that is not known");
            String other = address.replace("localhost", "127.0.0.1");
            must(failure(() -> new Service("demo", List.of(other), null, client, Duration.ofSeconds(10)).mint(1)) instanceof RandflakeException.Unavailable, "another name");
        }
        Files.delete(store);
        Files.delete(store.getParent());
    }

    private static void minter() throws Exception {
        try (Fake fake = new Fake(HttpServer.create())) {
            Driver.TestClock clock = new Driver.TestClock("");
            Minter minter = new Minter(new Service("demo", fake.address()), 100, clock);
            Set<Long> all = ConcurrentHashMap.newKeySet();
            parallel(8, () -> {
                for (int i = 0; i < 2000; i++) must(all.add(minter.next()), "an ID was given twice");
            });
            must(fake.asked.size() >= 160 && fake.asked.size() <= 162, fake.asked.size() + " calls for 16,000 IDs");
            clock.older = 300;
            long next = minter.next();
            must(all.stream().noneMatch(id -> id >= next), "an ID of more than five minutes");
        }
    }

    private static void serialization() throws Exception {
        Service service = new Service("demo", "http://localhost:1");
        for (Object object : List.of(SECRET, service, new Generator(service, SECRET), new Minter(service))) {
            must(!(object instanceof Serializable) && !(object instanceof Cloneable), "can be copied: " + object);
            must(!object.toString().contains(SECRET.hex()), "toString");
            try (ObjectOutputStream out = new ObjectOutputStream(new ByteArrayOutputStream())) {
                out.writeObject(object);
                must(false, "serialized: " + object);
            } catch (NotSerializableException e) {
                // as it should be
            }
        }
    }

    // Helpers.

    private static volatile Throwable failed;

    private static void parallel(int threads, Test test) throws Exception {
        failed = null;
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < threads; i++) all.add(new Thread(() -> {
            try {
                test.run();
            } catch (Throwable e) {
                failed = e;
            }
        }));
        all.forEach(Thread::start);
        for (Thread thread : all) thread.join();
        must(failed == null, "in a thread: " + failed);
    }

    private static void must(boolean so, String otherwise) {
        if (!so) throw new AssertionError(otherwise);
    }

    private static String refused(String what, Runnable call) {
        try {
            call.run();
        } catch (IllegalArgumentException | StringIndexOutOfBoundsException e) {
            return e.getMessage();
        }
        throw new AssertionError("not refused: " + what);
    }

    private static RuntimeException failure(Runnable call) {
        try {
            call.run();
        } catch (RuntimeException e) {
            return e;
        }
        throw new AssertionError("no error");
    }

    private static void pause(long milliseconds) {
        try {
            TimeUnit.MILLISECONDS.sleep(milliseconds);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
