package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.WebSocket;
import java.net.http.WebSocketHandshakeException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.core.env.Environment;
import org.springframework.stereotype.Controller;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.ResponseBody;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.reactive.handler.SimpleUrlHandlerMapping;
import org.springframework.web.reactive.socket.WebSocketHandler;
import org.springframework.web.servlet.mvc.method.annotation.StreamingResponseBody;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** A request counts once, by the path that the client asked for, however it is served. */
class DispatchTest {
  private static final String[] SETTINGS = {
    "sluice.rules.Two.by=route+ip",
    "sluice.rules.Two.limit=2 per 1d",
    "sluice.routes[0].path=/limited/*",
    "sluice.routes[0].rule=Two",
    "sluice.routes[1].path=/limited/later",
    "sluice.routes[1].rule=Two",
    "sluice.routes[2].path=/limited/fails",
    "sluice.routes[2].rule=Two",
    "sluice.routes[3].path=/limited/stream",
    "sluice.routes[3].rule=Two",
    "sluice.routes[4].path=/limited/form",
    "sluice.routes[4].rule=Two",
    "sluice.routes[5].path=/actuator/**",
    "sluice.routes[5].rule=Two",
  };

  @Controller
  static class MvcPages {
    @GetMapping("/limited/plain")
    @ResponseBody
    public String plain() {
      return "plain";
    }

    @GetMapping("/limited/later")
    @ResponseBody
    public Callable<String> later() {
      return () -> "later";
    }

    @GetMapping("/limited/fails")
    @ResponseBody
    public String fails() {
      throw new IllegalStateException("on purpose");
    }

    @GetMapping("/limited/stream")
    @ResponseBody
    public StreamingResponseBody stream() {
      return out -> out.write('s');
    }

    @PostMapping("/limited/form")
    @ResponseBody
    public String form() {
      return "form";
    }

    @GetMapping("/forwards")
    public String forwards() {
      return "forward:/limited/plain";
    }

    @GetMapping("/includes")
    public void includes(HttpServletRequest request, HttpServletResponse response)
        throws Exception {
      request.getRequestDispatcher("/limited/plain").include(request, response);
    }
  }

  @RestController
  static class FluxPages {
    @GetMapping("/limited/plain")
    public Mono<String> plain() {
      return Mono.just("plain");
    }

    @GetMapping("/limited/later")
    public Mono<String> later() {
      return Mono.fromSupplier(() -> "later");
    }

    @GetMapping("/limited/fails")
    public Mono<String> fails() {
      return Mono.error(new IllegalStateException("on purpose"));
    }

    @GetMapping(value = "/limited/stream", produces = "text/event-stream")
    public Flux<String> stream() {
      return Flux.just("s", "t");
    }

    @PostMapping("/limited/form")
    public Mono<String> form() {
      return Mono.just("form");
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @Import(MvcPages.class)
  static class Mvc {}

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @Import(FluxPages.class)
  static class WebFlux {
    @Bean
    SimpleUrlHandlerMapping sockets() {
      WebSocketHandler talk = session -> session.send(session.receive());
      return new SimpleUrlHandlerMapping(Map.of("/limited/socket", talk), -1);
    }
  }

  private static App start(WebApplicationType type, String... more) {
    Class<?> main = type == WebApplicationType.SERVLET ? Mvc.class : WebFlux.class;
    String[] all = Stream.of(SETTINGS, more).flatMap(Stream::of).toArray(String[]::new);
    return App.start(type, main, all);
  }

  private static Stream<Integer> statuses(App app, String path, String... headers) {
    return IntStream.range(0, 3).mapToObj(i -> app.get(path, headers).statusCode());
  }

  @ParameterizedTest
  @CsvSource({"SERVLET", "REACTIVE"})
  void requestCountsOnceHoweverItIsServed(WebApplicationType type) {
    try (App app = start(type, "management.endpoints.web.exposure.include=*")) {
      assertThat(statuses(app, "/limited/plain")).containsExactly(200, 200, 429);
      assertThat(statuses(app, "/limited/later")).containsExactly(200, 200, 429);
      assertThat(statuses(app, "/limited/fails")).containsExactly(500, 500, 429);
      assertThat(statuses(app, "/limited/stream")).containsExactly(200, 200, 429);
      assertThat(statuses(app, "/actuator/health")).containsExactly(200, 200, 429);
      assertThat(IntStream.range(0, 3).mapToObj(i -> app.post("/limited/form", "a=b").statusCode()))
          .containsExactly(200, 200, 429);
    }
  }

  @ParameterizedTest
  @CsvSource({"SERVLET", "REACTIVE"})
  void forwardedPrefixDoesNotHideAPath(WebApplicationType type) {
    String proxies = "sluice.trusted-proxies=127.0.0.1";
    try (App app = start(type, "server.forward-headers-strategy=framework", proxies)) {
      assertThat(statuses(app, "/limited/plain", "X-Forwarded-Prefix", "/x"))
          .containsExactly(200, 200, 429);
      assertThat(statuses(app, "/limited/later", "X-Forwarded-Prefix", "/limited"))
          .containsExactly(200, 200, 429);
    }
  }

  @Test
  void handshakeOfAWebSocketCounts() {
    try (App app = start(WebApplicationType.REACTIVE)) {
      URI uri = URI.create("ws://127.0.0.1:" + app.port() + "/limited/socket");
      for (int i = 0; i < 2; i++) {
        connect(uri).join().abort();
      }

      assertThatThrownBy(() -> connect(uri).join())
          .hasCauseInstanceOf(WebSocketHandshakeException.class)
          .satisfies(
              e ->
                  assertThat(((WebSocketHandshakeException) e.getCause()).getResponse())
                      .returns(429, HttpResponse::statusCode));
    }
  }

  private static CompletableFuture<WebSocket> connect(URI uri) {
    return HttpClient.newHttpClient()
        .newWebSocketBuilder()
        .buildAsync(uri, new WebSocket.Listener() {});
  }

  @ParameterizedTest
  @CsvSource({"SERVLET,200", "REACTIVE,429"})
  void onlyWebFluxCountsOnAnotherPortOfTheActuator(WebApplicationType type, int third)
      throws Exception {
    // Spring Boot 4 has a factory for each server on the class path, all of one name.
    String overriding = "spring.main.allow-bean-definition-overriding=true";
    try (App app = start(type, "management.server.port=0", overriding)) {
      String port = app.bean(Environment.class).getProperty("local.management.port");
      HttpRequest health =
          HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/actuator/health"))
              .timeout(Duration.ofSeconds(30)) // rather a failure than a test without an end
              .build();
      List<Integer> statuses = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        // A connection of its own: once, a kept one was not read any more, and the test had no end.
        HttpClient client = HttpClient.newHttpClient();
        statuses.add(client.send(health, HttpResponse.BodyHandlers.ofString()).statusCode());
      }

      assertThat(statuses).containsExactly(200, 200, third);
    }
  }

  @Test
  void forwardsAndIncludesCountByThePathThatTheClientAskedFor() {
    try (App app = start(WebApplicationType.SERVLET)) {
      assertThat(statuses(app, "/forwards")).containsExactly(200, 200, 200);
      assertThat(statuses(app, "/includes")).containsExactly(200, 200, 200);
    }
  }
}
