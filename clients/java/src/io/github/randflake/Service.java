package io.github.randflake;

import java.io.ByteArrayOutputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;
import javax.net.ssl.SSLContext;

/** Calls one space of randflaked, through any of its replicas. It is safe for use by many threads. */
public final class Service {
    static final int MOST = 65_536; // IDs or numbers in a call
    private static final int LONGEST = 4 << 20; // bytes of an answer
    private static final Set<String> FINAL = Set.of("invalid_argument", "not_found", "already_exists", "permission_denied",
            "unauthenticated", "resource_exhausted", "failed_precondition", "out_of_range", "unimplemented");

    private final String space;
    private final List<String> addresses;
    private final Supplier<String> token; // or null
    private final long limit; // in nanoseconds
    private final HttpClient http;
    private volatile int current; // the replica that answered last

    /** Takes addresses of replicas, such as "https://ids.internal:8443". A call takes ten seconds at most. */
    public Service(String space, String... addresses) { this(space, List.of(addresses), null, null, Duration.ofSeconds(10)); }

    /**
     * Takes all that can be chosen.
     *
     * @param token returns the bearer token of now, for each call; null for none
     * @param tls for a private authority or a client certificate; null for the system's
     * @param limit how long a call may take, over all replicas
     * @throws IllegalArgumentException if an address is not a URL of a host, without user, query and fragment
     */
    public Service(String space, List<String> addresses, Supplier<String> token, SSLContext tls, Duration limit) {
        Fields.check("number of addresses", addresses.size(), 1, 1000);
        for (String address : addresses)
            if (!address.matches("https?://[^@?#]+") || URI.create(address).getHost() == null)
                throw new IllegalArgumentException("randflake: address: want https://ids.internal:8443 or such, without user and query");
        this.space = space;
        this.addresses = addresses.stream().map(address -> address.replaceAll("/+$", "")).toList();
        this.token = token;
        this.limit = Fields.check("milliseconds of the limit", limit.toMillis(), 1, 86_400_000) * 1_000_000;
        HttpClient.Builder builder = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(limit);
        this.http = (tls == null ? builder : builder.sslContext(tls)).followRedirects(HttpClient.Redirect.NEVER).build();
    }

    /**
     * Has the service make 1 to 65,536 IDs. If the answer is lost, they are, and are never made again. A space of ULIDs
     * refuses.
     */
    public long[] mint(int count) { return numbers("IDService/Mint", count, "space", space, "count", count, "form", "FORM_NUMBER"); }

    /** Takes 1 to 65,536 numbers of a counter, in order. If the answer is lost, they are, and are never given again. */
    public long[] next(String counter, int count) { return numbers("CounterService/Next", count, "counter", counter, "count", count); }

    private long[] numbers(String method, int count, Object... fields) {
        Fields.check("count", count, 1, MOST);
        return call(method, answer -> answer.get("1 numbers").size() != count ? null
                : answer.get("1 numbers").stream().mapToLong(Long::parseLong).toArray(), fields);
    }

    /** Asks for a lease, with an owner token that was first sent at a time of the monotonic clock. */
    Generator.Lease acquire(int nodes, long ttl, String owner, String check, boolean retry, long asked, Clock clock) {
        return call("LeaseService/Acquire", answer -> {
            ToLongFunction<String> number = name -> Long.parseLong(first(answer, "2 " + name, "0")); // zeros are left out
            long first = number.applyAsLong("firstNode"), last = number.applyAsLong("lastNode");
            long start = number.applyAsLong("start"), highWater = number.applyAsLong("highWater");
            boolean other = !first(answer, "2 owner", "").equals(owner) || last - first + 1 != nodes || first < 0 || last > Fields.MAX;
            if (other || start < Fields.FIRST_SECOND || start > highWater || highWater > Fields.LAST_SECOND) return null;
            return new Generator.Lease(first << 17, (long) nodes << 17, start, clock.lastSecond(highWater), asked, new AtomicLong());
        }, "space", space, "nodes", nodes, "ttlSeconds", ttl, "owner", owner, "check", check, "retry", retry);
    }

    private static String first(Map<String, List<String>> of, String name, String none) { return of.getOrDefault(name, List.of(none)).get(0); }

    /** Asks one replica after the other until one answers, which read does not find wrong by null or an exception. */
    private <T> T call(String method, Function<Map<String, List<String>>, T> read, Object... fields) {
        long end = System.nanoTime() + limit;
        int first = current, replicas = addresses.size();
        RandflakeException failed = null;
        for (int i = 0; i < replicas && (failed == null || !Thread.currentThread().isInterrupted()); i++) {
            int replica = (first + i) % replicas;
            try {
                T answer = ask(addresses.get(replica), method, Json.write(fields), (end - System.nanoTime()) / (replicas - i), read);
                current = replica;
                return answer;
            } catch (RandflakeException.Unavailable e) {
                failed = e;
                if (fields[fields.length - 2].equals("retry")) fields[fields.length - 1] = true;
            } catch (RandflakeException.Refused e) {
                current = replica;
                e.unknown = failed != null;
                throw e;
            }
        }
        throw failed;
    }

    private <T> T ask(String address, String method, String message, long nanos, Function<Map<String, List<String>>, T> read) {
        Duration share = Duration.ofNanos(Math.max(nanos, 1_000_000));
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(address + "/randflake.v1." + method)).timeout(share)
                .header("Content-Type", "application/json").header("Connect-Protocol-Version", "1")
                .POST(HttpRequest.BodyPublishers.ofString(message));
        String bearer = token == null ? "-" : token.get(), where = "randflake: " + method + " at " + address + ": ";
        if (bearer == null || !bearer.matches("[!-~]+"))
            throw new RandflakeException.Refused("invalid_argument", "randflake: token: want visible ASCII characters", null);
        if (token != null) request.header("Authorization", "Bearer " + bearer);
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        CompletableFuture<HttpResponse<Void>> response = http.sendAsync(request.build(), HttpResponse.BodyHandlers.ofByteArrayConsumer(
                part -> part.filter(bytes -> body.size() <= LONGEST).ifPresent(body::writeBytes)));
        try {
            return read(response.get(share.toNanos(), TimeUnit.NANOSECONDS).statusCode(), body.size() > LONGEST ? ""
                    : body.toString(StandardCharsets.UTF_8), where, token == null ? "\0" : bearer, read);
        } catch (InterruptedException | ExecutionException | TimeoutException e) {
            if (e instanceof InterruptedException) Thread.currentThread().interrupt();
            throw new RandflakeException.Unavailable("unavailable", where + "no answer: " + (e.getCause() == null ? e : e.getCause()), e);
        } finally {
            response.cancel(true);
        }
    }

    private static <T> T read(int status, String body, String where, String bearer, Function<Map<String, List<String>>, T> read) {
        String code = status == 200 ? "internal" : "unavailable", message = "not an answer of randflaked";
        try {
            Map<String, List<String>> answer = Json.read(body);
            T good = status == 200 ? read.apply(answer) : null;
            if (good != null) return good;
            message = first(answer, "1 message", message).replace(bearer, "[redacted]").replaceAll("\\P{Print}+", " ");
            if (status != 200 && first(answer, "1 code", "").matches("[a-z_]{1,30}")) code = first(answer, "1 code", code);
        } catch (RuntimeException e) {
            // a proxy's answer, perhaps
        }
        message = where + "status " + status + ": " + message.substring(0, Math.min(300, message.length()));
        throw FINAL.contains(code) ? new RandflakeException.Refused(code, message, null)
                : new RandflakeException.Unavailable(code, message, null);
    }
}
