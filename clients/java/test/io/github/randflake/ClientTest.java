package io.github.randflake;

import com.sun.net.httpserver.HttpServer;
import java.io.Serializable;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;

/** The tests of this client alone: what a driver can't show. */
public final class ClientTest {
    public static void main(String[] args) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress("localhost", 0), 0);
        server.createContext("/", call -> {
            call.sendResponseHeaders(500, 0);
            call.getResponseBody().write("{\"code\":\"internal\",\"message\":\"not a \\\"token\\\"\"}".getBytes());
            call.close();
        });
        server.start();
        Secret secret = Secret.parse("dffd6021bb2bd5b0af676290809ec3a5");
        List<String> addresses = List.of("http://localhost:" + server.getAddress().getPort());
        Service service = new Service("demo", addresses, () -> "token", null, Duration.ofSeconds(10));
        Generator generator = new Generator(service, secret);
        for (String code : List.of("internal", "canceled")) {
            try {
                must(false, "an ID without a lease: " + generator.generate());
            } catch (RandflakeException e) {
                must(e.code().equals(code) && !e.getMessage().contains("token"), e.toString());
            }
            Thread.currentThread().interrupt(); // before the second call
        }
        must(Thread.interrupted(), "the interrupt is lost");
        server.stop(0);
        for (Object object : List.of(secret, service, generator, new Minter(service)))
            must(!(object instanceof Serializable) && !object.toString().contains("dffd"), object + " shows a secret");
        must(Secret.parse("3/1gIbsr1bCvZ2KQgJ7DpQ==").checkValue.equals(secret.checkValue), "base64 is another secret");
    }

    private static void must(boolean so, String otherwise) {
        if (!so) throw new AssertionError(otherwise);
    }
}
