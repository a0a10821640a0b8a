package com.example;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.http.HeaderProfile;
import dev.sluice.http.HttpAnswer;
import dev.sluice.memory.MemoryStore;
import dev.sluice.store.Store;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** The HTTP server of the JDK. Each client address gets three answers a minute. */
public final class HelloServer {
  private static final Rule HELLO =
      Rule.builder("Hello").by("ip").limit(Limit.slidingLog(3, Duration.ofMinutes(1))).build();

  private HelloServer() {}

  public static void main(String[] args) throws IOException {
    HttpServer server = start(8080, MemoryStore.create());
    System.out.println("Try: curl -i http://127.0.0.1:" + server.getAddress().getPort() + "/hello");
  }

  /** Starts the server. Port 0 is any free port. */
  static HttpServer start(int port, Store store) throws IOException {
    Limiter limiter = Limiter.of(store, Rules.of(HELLO));
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
    server.createContext("/hello", exchange -> answer(exchange, limiter));
    server.start();
    return server;
  }

  private static void answer(HttpExchange exchange, Limiter limiter) throws IOException {
    String address = exchange.getRemoteAddress().getAddress().getHostAddress();
    Decision decision = limiter.decide("Hello", Identity.of("ip", address));

    HttpAnswer answer = HttpAnswer.of(decision, HeaderProfile.BOTH);
    answer.headers().forEach(exchange.getResponseHeaders()::set);
    String body = "hello";
    if (!decision.allowed()) {
      exchange.getResponseHeaders().set("Content-Type", HttpAnswer.PROBLEM_TYPE);
      body = answer.problem();
    }
    byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
    exchange.sendResponseHeaders(answer.status(), bytes.length);
    exchange.getResponseBody().write(bytes);
    exchange.close();
  }
}
