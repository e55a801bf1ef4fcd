import com.sun.net.httpserver.HttpServer;
import io.github.randflake.*;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.*;

/** Answers with the process ID, 0, and new IDs, each request in a virtual thread, which makes them in more of these. */
class Virtual {
    public static void main(String[] args) throws Exception {
        var env = System.getenv();
        var addresses = List.of(env.get("ADDRESSES").split(","));
        var service = new Service(env.get("SPACE"), addresses, () -> env.get("TOKEN"), null, Duration.ofSeconds(10));
        var generator = new Generator(service, Secret.parse(env.get("SECRET")));
        var server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(env.get("PORT"))), 0);
        var of21 = Executors.class.getMethod("newVirtualThreadPerTaskExecutor"); // of Java 21
        var threads = (ExecutorService) of21.invoke(null);
        server.setExecutor(threads);
        server.createContext("/", exchange -> {
            var ids = Stream.generate(() -> threads.submit(generator::generate)).limit(100).toList();
            var text = new StringBuilder(ProcessHandle.current().pid() + " 0");
            try {
                for (var id : ids) text.append(' ').append(id.get());
            } catch (InterruptedException | ExecutionException e) {
                throw new IllegalStateException(e);
            }
            exchange.sendResponseHeaders(200, text.length());
            exchange.getResponseBody().write(text.toString().getBytes());
            exchange.close();
        });
        server.start();
    }
}
