package io.github.randflake;

import io.github.randflake.RandflakeException.Why;
import java.io.ByteArrayOutputStream;
import java.net.URI;
import java.net.http.*;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.*;

/** Calls one space of randflaked, through any of its replicas. It is safe for use by many threads. */
public class Service { // not final, for tests alone
    private static final Set<String> FINAL = Set.of("invalid_argument", "not_found", "already_exists", "out_of_range",
            "permission_denied", "unauthenticated", "resource_exhausted", "failed_precondition", "unimplemented");
    static final HttpClient HTTP = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private static final String LABEL = Objects.requireNonNullElse(System.getenv("HOSTNAME"), "java") + " "
            + ProcessHandle.current().pid();
    final String space;
    private final List<String> addresses;
    private final Supplier<String> token;
    private final HttpClient http;
    private final Duration timeout;
    private volatile int current; // the replica that answered last
    LongSupplier nanos = System::nanoTime; // which tests replace, as they do the next one
    LongSupplier unixSecond = () -> Math.floorDiv(System.currentTimeMillis(), 1000);

    /** Takes addresses of replicas, such as "https://ids.internal:8443". A call takes ten seconds at most. */
    public Service(String space, String... addresses) {
        this(space, List.of(addresses), () -> "", HTTP, Duration.ofSeconds(10));
    }

    /** Returns a service that asks for the bearer token before each call. */
    public Service withToken(Supplier<String> token) { return new Service(space, addresses, token, http, timeout); }

    /** Returns a service that calls through a client of its own, as for TLS or a proxy. It must follow no redirects. */
    public Service withHttpClient(HttpClient http) { return new Service(space, addresses, token, http, timeout); }

    /** Returns a service whose calls take at most that long, at all replicas together. */
    public Service withTimeout(Duration timeout) { return new Service(space, addresses, token, http, timeout); }

    Service(String space, List<String> addresses, Supplier<String> token, HttpClient http, Duration timeout) {
        Id.check("number of addresses", addresses.size(), 1, 1000);
        for (String address : addresses)
            if (!address.matches("https?://[^@?#]+") || URI.create(address).getHost() == null)
                throw new IllegalArgumentException("randflake: address: want one like https://ids.internal:8443");
        this.space = space;
        this.addresses = addresses.stream().map(address -> address.replaceAll("/+$", "")).toList();
        Id.check("milliseconds of the timeout", timeout.toMillis(), 1, 86_400_000);
        this.token = Objects.requireNonNull(token);
        this.http = Objects.requireNonNull(http);
        this.timeout = timeout;
    }

    /** Takes 1 to 65,536 numbers of a counter of the space. Numbers in an answer that is lost are skipped. */
    public Numbers next(String counter, int count) {
        Id.check("count", count, 1, 65_536);
        return call("CounterService/Next", Map.of("space", space, "counter", counter, "count", count),
                answer -> new Numbers(numbers(answer, count), answer.text("/period", "")));
    }

    /** What a space is like: a window's seconds, how many windows ahead may be taken, the secret's check value or "". */
    record Limits(long window, long ahead, String check) {}

    Limits limits() {
        return call("LeaseService/GetLimits", Map.of("space", space), answer -> new Limits(
                Id.check("windowSeconds", answer.number("/windowSeconds"), 1, 86_400),
                Id.check("ahead", answer.number("/ahead"), 1, 1L << 32), answer.text("/checkValue", "")));
    }

    /** Takes nodes of a window of that many seconds, and returns the first one. */
    long take(long window, int nodes, long seconds) {
        long start = window * seconds;
        long end = start + seconds;
        if (start < Id.FIRST_SECOND || end > Id.LAST_SECOND + 1)
            throw new RandflakeException(new Why("out_of_range", "END_OF_LIFE"),
                    "no ID can have the time " + start + ": set the clock");
        Map<String, Object> fields = Map.of("space", space, "window", window, "nodeCount", nodes, "label", LABEL);
        return call("LeaseService/Take", fields, answer -> {
            Id.check("start", answer.number("/leases/start"), start, start);
            Id.check("end", answer.number("/leases/end"), end, end);
            long node = Id.check("firstNode", answer.number("/leases/firstNode"), 0, Id.MAX + 1 - nodes);
            Id.check("lastNode", answer.number("/leases/lastNode"), node + nodes - 1, node + nodes - 1);
            return node;
        });
    }

    static List<Long> numbers(Json answer, int count) {
        List<String> texts = answer.list("/numbers");
        Id.check("length", texts.size(), count, count);
        return texts.stream().map(Long::valueOf).toList();
    }

    /** Asks one replica after the other, until read takes an answer: read throws if one does not fit. */
    <T> T call(String method, Map<String, Object> fields, Function<Json, T> read) {
        String bearer = token.get();
        if (bearer == null || !bearer.matches("[!-~]*"))
            throw new RandflakeException(new Why("invalid_argument", ""), "token: want visible ASCII");
        long end = System.nanoTime() + timeout.toNanos();
        int first = current;
        int replicas = addresses.size();
        for (int i = 0;; i++) {
            int replica = (first + i) % replicas;
            long share = (end - System.nanoTime()) / (replicas - i);
            try {
                String url = addresses.get(replica) + "/randflake.v1." + method;
                T answer = ask(url, bearer, Json.write(fields), share, read);
                current = replica;
                return answer;
            } catch (RandflakeException e) {
                boolean isFinal = FINAL.contains(e.code()); // each replica would say the same
                if (isFinal) current = replica;
                if (isFinal || i == replicas - 1 || Thread.currentThread().isInterrupted()) throw e;
            }
        }
    }

    private <T> T ask(String url, String bearer, String body, long share, Function<Json, T> read) {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url))
                .POST(HttpRequest.BodyPublishers.ofString(body))
                .header("Content-Type", "application/json").header("Connect-Protocol-Version", "1");
        if (!bearer.isEmpty()) request.header("Authorization", "Bearer " + bearer);
        ByteArrayOutputStream received = new ByteArrayOutputStream(); // JSON that is cut after 4 MiB is refused below
        var response = http.sendAsync(request.build(), HttpResponse.BodyHandlers.ofByteArrayConsumer(
                part -> part.filter(bytes -> received.size() < 4 << 20).ifPresent(received::writeBytes)));
        Why why = new Why("unavailable", "");
        String message = "no answer";
        try {
            int status = response.get(share, TimeUnit.NANOSECONDS).statusCode();
            message = "status " + status;
            Json answer = new Json(received.toString(StandardCharsets.UTF_8));
            if (status == 200) return read.apply(answer);
            message += ": " + answer.text("/message", "no message").replaceAll("\\s+", " ");
            why = new Why(answer);
        } catch (InterruptedException e) {
            throw RandflakeException.interrupted(e);
        } catch (ExecutionException | TimeoutException | IllegalArgumentException e) {
            message += ": " + e;
        } finally {
            response.cancel(true);
        }
        message = message.replace(bearer.isEmpty() ? "\0" : bearer, "[redacted]");
        throw new RandflakeException(why, String.format("%s: %.300s", url, message));
    }
}
