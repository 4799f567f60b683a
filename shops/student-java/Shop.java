// A student's shop for tickets, without a database: each free seat is a file. Its three ways to sell stand one below the other.
//
// Usage: java Shop.java PORT FOLDER [wrong|lock|cured]      several processes may share the folder
//   POST /shows {"seats": 50}         ->  201 {"show": "6f1c..."}
//   POST /orders {"show": "6f1c..."}  ->  201 {"order": "03d9...", "seat": "17"}, or 409 {"error": "sold out"}
//   GET /                             ->  200 "Shop.java wrong"

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.UUID;
import java.util.concurrent.Executors;

class Shop {
    record Reply(int status, String text) {}

    interface Sale {
        Reply sell(Path free, Path sold) throws IOException, InterruptedException;
    }

    static final Reply SOLD_OUT = new Reply(409, "{\"error\": \"sold out\"}");

    // It finds a free seat, writes the order, and removes the seat. Between these steps another customer can find the same seat.
    static Reply wrong(Path free, Path sold) throws IOException, InterruptedException {
        String[] seats = free.toFile().list();
        if (seats.length == 0) return SOLD_OUT;
        askBank();
        UUID order = UUID.randomUUID();
        Files.createFile(sold.resolve(order + "." + seats[0]));
        Files.deleteIfExists(free.resolve(seats[0]));
        return new Reply(201, "{\"order\": \"%s\", \"seat\": \"%s\"}".formatted(order, seats[0]));
    }

    // The same, one sale after the other. A second process has a lock of its own.
    static synchronized Reply lock(Path free, Path sold) throws IOException, InterruptedException {
        return wrong(free, sold);
    }

    // One step takes the seat and makes the order, because only one rename of a file succeeds.
    static Reply cured(Path free, Path sold) throws IOException, InterruptedException {
        askBank();
        UUID order = UUID.randomUUID();
        for (String seat : free.toFile().list()) {
            try {
                Files.move(free.resolve(seat), sold.resolve(order + "." + seat), StandardCopyOption.ATOMIC_MOVE);
                return new Reply(201, "{\"order\": \"%s\", \"seat\": \"%s\"}".formatted(order, seat));
            } catch (NoSuchFileException taken) {
                // another customer has this seat
            }
        }
        return SOLD_OUT;
    }

    // The bank says that the card is good. Its service takes about 50 ms.
    static void askBank() throws InterruptedException {
        Thread.sleep(50);
    }

    static Reply create(Path show, int seats) throws IOException {
        Path free = Files.createDirectories(show.resolve("free"));
        Files.createDirectories(show.resolve("sold"));
        for (int seat = 1; seat <= seats; seat++) Files.createFile(free.resolve("" + seat));
        return new Reply(201, "{\"show\": \"%s\"}".formatted(show.getFileName()));
    }

    static void answer(HttpExchange exchange, Path data, Sale sale, String about) throws IOException {
        Reply reply;
        try {
            String path = exchange.getRequestURI().getPath(), wanted = new String(exchange.getRequestBody().readAllBytes());
            if (path.equals("/shows")) {
                reply = create(data.resolve("" + UUID.randomUUID()), Integer.parseInt(wanted.replaceAll("\\D", "")));
            } else if (path.equals("/orders")) {
                Path show = data.resolve("" + UUID.fromString(wanted.replaceAll(".*\"show\": *\"([^\"]*)\".*", "$1")));
                reply = sale.sell(show.resolve("free"), show.resolve("sold"));
            } else {
                reply = new Reply(200, about);
            }
        } catch (Exception error) {
            reply = new Reply(500, "{\"error\": \"the shop failed\"}");
            error.printStackTrace();
        }
        byte[] text = reply.text().getBytes();
        exchange.sendResponseHeaders(reply.status(), text.length);
        exchange.getResponseBody().write(text);
        exchange.close();
    }

    public static void main(String[] words) throws IOException {
        String way = words.length > 2 ? words[2] : "wrong";
        Sale sale = switch (way) {
            case "wrong" -> Shop::wrong;
            case "lock" -> Shop::lock;
            case "cured" -> Shop::cured;
            default -> throw new IllegalArgumentException(way);
        };
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(words[0])), 128);
        server.createContext("/", exchange -> answer(exchange, Path.of(words[1]), sale, "Shop.java " + way));
        server.setExecutor(Executors.newCachedThreadPool());
        server.start();
    }
}
