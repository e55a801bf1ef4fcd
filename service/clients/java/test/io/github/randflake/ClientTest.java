package io.github.randflake;

import java.io.Serializable;
import java.time.Duration;
import java.util.List;

/** The tests of this client alone: what a driver can't show. */
public final class ClientTest {
    public static void main(String[] args) {
        Secret secret = Secret.parse("dffd6021bb2bd5b0af676290809ec3a5");
        Service service = new Service("demo", "http://localhost:1");
        Generator generator = new Generator(service, secret);
        for (String code : List.of("unavailable", "canceled")) {
            synchronized (generator) { // as a program may, without need
                try {
                    must(false, "an ID without a lease: " + generator.generate());
                } catch (RandflakeException e) {
                    must(e.code().equals(code), e.toString());
                }
            }
            Thread.currentThread().interrupt(); // before the second call
        }
        must(Thread.interrupted(), "the interrupt is lost");
        for (Object object : List.of(secret, service, generator, new Minter(service)))
            must(!(object instanceof Serializable) && !object.toString().contains("dffd"), object + " shows a secret");
        try {
            must(false, "a call with a bad token: " + service.withToken(() -> "a b").withTimeout(Duration.ofSeconds(1)).next("c", 1));
        } catch (RandflakeException e) {
            boolean saysNoMore = e.reason().isEmpty() && e.until().isEmpty() && e.limit().isEmpty();
            must(e.code().equals("invalid_argument") && saysNoMore, e.toString());
        }
        must(Secret.parse("3/1gIbsr1bCvZ2KQgJ7DpQ==").checkValue().equals(secret.checkValue()), "base64 is another secret");
    }

    private static void must(boolean so, String otherwise) {
        if (!so) throw new AssertionError(otherwise);
    }
}
