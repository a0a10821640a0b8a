package com.example;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.sun.net.httpserver.HttpServer;
import dev.sluice.memory.MemoryStore;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Instant;
import java.time.InstantSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class HelloServerTest {
  private final HttpClient client = HttpClient.newHttpClient();
  private HttpServer server;

  @BeforeEach
  void start() throws Exception {
    InstantSource clock = InstantSource.fixed(Instant.parse("2030-01-01T00:00:00Z"));
    server = HelloServer.start(0, MemoryStore.create(clock));
  }

  @AfterEach
  void stop() {
    server.stop(0);
  }

  @Test
  void fourthRequestOfAMinuteIsRefused() throws Exception {
    assertEquals(200, hello().statusCode());
    assertEquals(200, hello().statusCode());
    assertEquals(200, hello().statusCode());

    HttpResponse<String> fourth = hello();

    assertEquals(429, fourth.statusCode());
    assertEquals("60", fourth.headers().firstValue("Retry-After").orElseThrow());
  }

  private HttpResponse<String> hello() throws Exception {
    URI uri = URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/hello");
    return client.send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofString());
  }
}
