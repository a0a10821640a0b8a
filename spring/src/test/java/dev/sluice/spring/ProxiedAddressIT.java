package dev.sluice.spring;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Identity;
import dev.sluice.Limiter;
import dev.sluice.testing.Needs;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.security.config.Customizer;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.config.annotation.web.reactive.EnableWebFluxSecurity;
import org.springframework.security.config.web.server.ServerHttpSecurity;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.security.web.server.SecurityWebFilterChain;
import org.springframework.util.ClassUtils;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import reactor.core.publisher.Mono;

/**
 * A client counts by the address that it really has, whatever its headers say: on every web server,
 * with every way of Spring Boot to explain forwarded headers, behind nginx and without a proxy.
 */
@Needs("nginx")
class ProxiedAddressIT {
  private static final String[] SETTINGS = {
    "spring.security.user.name=bob",
    "spring.security.user.password=secret",
    "sluice.trusted-proxies=127.0.0.1",
    "sluice.rules.Route.by=ip",
    "sluice.rules.Route.limit=3 per 1d",
    "sluice.rules.Method.by=ip",
    "sluice.rules.Method.limit=3 per 1d",
    "sluice.rules.Login.by=login+ip",
    "sluice.rules.Login.limit=3 per 1d",
    "sluice.routes[0].path=/route",
    "sluice.routes[0].rule=Route",
    "sluice.login.rule=Login",
  };

  private static final String CONFIGURATION =
      """
      daemon off; master_process off; pid nginx.pid; error_log stderr;
      events {}
      http {
          access_log off;
          client_body_temp_path body;
          proxy_temp_path proxy;
          fastcgi_temp_path fastcgi;
          uwsgi_temp_path uwsgi;
          scgi_temp_path scgi;
          server {
              listen 127.0.0.1:PORT;
              location / {
                  proxy_pass http://127.0.0.1:$http_application_port;
                  proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
              }
          }
      }
      """;

  @TempDir static Path directory;
  private static Process nginx;
  private static int nginxPort;

  @RestController
  static class Pages {
    @GetMapping({"/route", "/secret"})
    public Mono<String> page() {
      return Mono.just("page");
    }

    @GetMapping("/method")
    @RateLimit("Method")
    public Mono<String> method() {
      return Mono.just("method");
    }
  }

  @Endpoint(id = "limited")
  static class LimitedEndpoint {
    @ReadOperation
    @RateLimit("Method")
    public String read() {
      return "limited";
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @Import({Pages.class, LimitedEndpoint.class})
  static class Mvc {
    @Bean
    SecurityFilterChain chain(HttpSecurity http) throws Exception {
      return http.authorizeHttpRequests(
              all -> all.requestMatchers("/secret").authenticated().anyRequest().permitAll())
          .httpBasic(Customizer.withDefaults())
          .build();
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @EnableWebFluxSecurity
  @Import(Pages.class)
  static class WebFlux {
    @Bean
    SecurityWebFilterChain chain(ServerHttpSecurity http) {
      return http.authorizeExchange(
              all -> all.pathMatchers("/secret").authenticated().anyExchange().permitAll())
          .httpBasic(Customizer.withDefaults())
          .build();
    }
  }

  @BeforeAll
  static void startNginx() throws Exception {
    try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      nginxPort = free.getLocalPort();
    }
    Path file = directory.resolve("nginx.conf");
    Files.writeString(file, CONFIGURATION.replace("PORT", "" + nginxPort));
    nginx =
        new ProcessBuilder("nginx", "-p", directory + "/", "-e", "stderr", "-c", file.toString())
            .redirectErrorStream(true)
            .redirectOutput(directory.resolve("printed.txt").toFile())
            .start();
    while (!listens()) {
      assertThat(nginx.isAlive()).describedAs("nginx runs").isTrue();
      Thread.sleep(20); // another process starts: no clock of ours drives it
    }
  }

  private static boolean listens() {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), nginxPort)) {
      return socket.isConnected();
    } catch (IOException e) {
      return false;
    }
  }

  @AfterAll
  static void stopNginx() throws Exception {
    nginx.destroy();
    nginx.waitFor();
  }

  static Stream<Arguments> combinations() {
    boolean undertow = ClassUtils.isPresent("io.undertow.Undertow", null);
    List<String> strategies = List.of("none", "native", "framework");
    Stream<Arguments> servlets =
        Stream.of("Tomcat", "Jetty", "Undertow")
            .flatMap(server -> strategies.stream().map(each -> of(server, "SERVLET", each)));
    Stream<Arguments> netty = strategies.stream().map(each -> of("Netty", "REACTIVE", each));
    Stream<Arguments> others =
        Stream.of("Tomcat", "Jetty", "Undertow").map(server -> of(server, "REACTIVE", "native"));
    return Stream.of(servlets, netty, others)
        .flatMap(each -> each)
        .filter(each -> undertow || !each.get()[0].equals("Undertow"));
  }

  private static Arguments of(String server, String type, String strategy) {
    return Arguments.of(server, WebApplicationType.valueOf(type), strategy);
  }

  @ParameterizedTest(name = "{0} {1} {2}")
  @MethodSource("combinations")
  void forgedHeadersChangeNothing(String server, WebApplicationType type, String strategy) {
    Class<?> main = type == WebApplicationType.SERVLET ? Mvc.class : WebFlux.class;
    String[] settings =
        Stream.concat(Stream.of(SETTINGS), Stream.of("server.forward-headers-strategy=" + strategy))
            .toArray(String[]::new);

    try (App app = App.startOn(server, type, main, settings)) {
      Limiter limiter = app.bean(Limiter.class);
      for (Client client :
          List.of(
              new Client("127.0.0.5", nginxPort, app), new Client("127.0.0.6", app.port(), app))) {
        assertThat(client.statuses("/route")).containsExactly(200, 200, 200, 429);
        assertThat(client.statuses("/method")).containsExactly(200, 200, 200, 429);
        assertThat(client.statuses("/secret")).containsExactly(401, 401, 401, 429);
        Identity caller = Identity.of("ip", client.address);
        assertThat(limiter.peek("Route", caller).allowed()).isFalse();
        assertThat(limiter.peek("Method", caller).allowed()).isFalse();
        assertThat(limiter.peek("Login", caller.with("login", "bob")).allowed()).isFalse();
      }
      Client other = new Client("127.0.0.7", nginxPort, app);
      assertThat(other.statuses("/route")).containsExactly(200, 200, 200, 429);
    }
  }

  /** The actuator has a web server of its own there. */
  @Test
  void forgedHeadersChangeNothingOnThePortOfTheActuator() {
    String[] settings =
        Stream.concat(
                Stream.of(SETTINGS),
                Stream.of(
                    "server.forward-headers-strategy=native",
                    "management.endpoints.web.exposure.include=limited",
                    // Spring Boot 4 has a factory for each server, all of one name.
                    "spring.main.allow-bean-definition-overriding=true",
                    "management.server.port=0"))
            .toArray(String[]::new);

    try (App app = App.startOn("Tomcat", WebApplicationType.SERVLET, Mvc.class, settings)) {
      Client client = new Client("127.0.0.5", app.managementPort(), app);
      assertThat(client.statuses("/actuator/limited")).startsWith(200, 200, 200).endsWith(429);
      Identity caller = Identity.of("ip", client.address);
      assertThat(app.bean(Limiter.class).peek("Method", caller).allowed()).isFalse();
    }
  }

  /** A client that says another address of itself with each request. */
  private record Client(String address, int port, App app) {
    private static final String WRONG =
        "Basic " + Base64.getEncoder().encodeToString("bob:wrong".getBytes(UTF_8));

    List<Integer> statuses(String path) {
      return IntStream.rangeClosed(1, 4).mapToObj(i -> status(path, "203.0.113." + i)).toList();
    }

    private int status(String path, String forged) {
      return App.raw(
              address,
              port,
              "GET",
              path,
              "Application-Port",
              "" + app.port(),
              "X-Forwarded-For",
              forged,
              "Forwarded",
              "for=" + forged,
              "X-Real-IP",
              forged,
              "Authorization",
              path.equals("/secret") ? WRONG : "None")
          .status();
    }
  }
}
