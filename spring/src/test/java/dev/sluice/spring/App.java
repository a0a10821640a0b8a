package dev.sluice.spring;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.util.ClassUtils;

/** An application on a free loopback port, and a client for it. */
public final class App implements AutoCloseable {
  /** Whatever a Spring Boot calls its security; names that it does not know are ignored. */
  private static final List<String> SECURITY =
      List.of(
          "org.springframework.boot.autoconfigure.security.servlet.SecurityAutoConfiguration",
          "org.springframework.boot.autoconfigure.security.servlet.UserDetailsServiceAutoConfiguration",
          "org.springframework.boot.autoconfigure.security.servlet.SecurityFilterAutoConfiguration",
          "org.springframework.boot.autoconfigure.security.reactive.ReactiveSecurityAutoConfiguration",
          "org.springframework.boot.autoconfigure.security.reactive.ReactiveUserDetailsServiceAutoConfiguration",
          "org.springframework.boot.actuate.autoconfigure.security.servlet.ManagementWebSecurityAutoConfiguration",
          "org.springframework.boot.actuate.autoconfigure.security.reactive.ReactiveManagementWebSecurityAutoConfiguration",
          "org.springframework.boot.security.autoconfigure.SecurityAutoConfiguration",
          "org.springframework.boot.security.autoconfigure.UserDetailsServiceAutoConfiguration",
          "org.springframework.boot.security.autoconfigure.ReactiveUserDetailsServiceAutoConfiguration",
          "org.springframework.boot.security.autoconfigure.web.servlet.ServletWebSecurityAutoConfiguration",
          "org.springframework.boot.security.autoconfigure.web.servlet.SecurityFilterAutoConfiguration",
          "org.springframework.boot.security.autoconfigure.web.reactive.ReactiveWebSecurityAutoConfiguration",
          "org.springframework.boot.security.autoconfigure.actuate.web.servlet.ManagementWebSecurityAutoConfiguration",
          "org.springframework.boot.security.autoconfigure.actuate.web.reactive.ReactiveManagementWebSecurityAutoConfiguration");

  /** Spring Boot 4 would prefer Jetty to the other servers. */
  private static final List<String> JETTY =
      List.of(
          "org.springframework.boot.jetty.autoconfigure.servlet.JettyServletWebServerAutoConfiguration",
          "org.springframework.boot.jetty.autoconfigure.reactive.JettyReactiveWebServerAutoConfiguration");

  /*
   * Each request has a connection of its own. Reactor Netty 1.3.7, which comes with Spring Boot 4.1.1,
   * now and then never reads the second request of a connection whose first was answered on another
   * thread (reactor/reactor-netty issue 4361).
   */
  static {
    System.setProperty("jdk.httpclient.allowRestrictedHeaders", "connection");
  }

  private static final String LOOPBACK = "127.0.0.1";
  private static final HttpClient CLIENT = HttpClient.newHttpClient();

  private final ConfigurableApplicationContext context;

  private App(ConfigurableApplicationContext context) {
    this.context = context;
  }

  /** Starts without security. */
  public static App start(WebApplicationType type, Class<?> main, String... properties) {
    List<String> excluded = Stream.concat(SECURITY.stream(), JETTY.stream()).toList();
    return run(new SpringApplication(main), type, excluded, properties);
  }

  static App startSecured(WebApplicationType type, Class<?> main, String... properties) {
    return run(new SpringApplication(main), type, JETTY, properties);
  }

  /** Starts with security on a web server: Tomcat, Jetty, Undertow or Netty. */
  static App startOn(String server, WebApplicationType type, Class<?> main, String... properties) {
    SpringApplication application = new SpringApplication(main);
    application.addInitializers(
        context ->
            ((BeanDefinitionRegistry) context)
                .registerBeanDefinition(
                    "webServer", new RootBeanDefinition(factory(server, type))));
    return run(application, type, List.of(), properties);
  }

  /** The factory of a web server, in the package of the Spring Boot that runs. */
  private static Class<?> factory(String server, WebApplicationType type) {
    String kind = type == WebApplicationType.SERVLET ? "Servlet" : "Reactive";
    String module = server.equals("Netty") ? "reactor.netty" : server.toLowerCase(Locale.ROOT);
    for (String place :
        List.of(
            "web.embedded." + server.toLowerCase(Locale.ROOT),
            module + "." + kind.toLowerCase(Locale.ROOT),
            module)) {
      String name = "org.springframework.boot.%s.%s%sWebServerFactory";
      String factory = name.formatted(place, server, kind);
      if (ClassUtils.isPresent(factory, null)) {
        return ClassUtils.resolveClassName(factory, null);
      }
    }
    throw new IllegalArgumentException("no factory of " + server);
  }

  private static App run(
      SpringApplication application,
      WebApplicationType type,
      List<String> excluded,
      String... properties) {
    application.setWebApplicationType(type);
    List<String> arguments = new ArrayList<>();
    arguments.add("--spring.autoconfigure.exclude=" + String.join(",", excluded));
    arguments.add("--server.port=0");
    arguments.add("--server.address=127.0.0.1");
    arguments.add("--spring.main.banner-mode=off");
    arguments.add("--spring.jmx.enabled=false");
    for (String property : properties) {
      arguments.add("--" + property);
    }
    return new App(application.run(arguments.toArray(new String[0])));
  }

  public <T> T bean(Class<T> type) {
    return context.getBean(type);
  }

  int port() {
    return Integer.parseInt(context.getEnvironment().getProperty("local.server.port"));
  }

  int managementPort() {
    return Integer.parseInt(context.getEnvironment().getProperty("local.management.port"));
  }

  HttpResponse<String> get(String path, String... headers) {
    return send("GET", path, headers);
  }

  HttpResponse<String> getAs(String user, String path) {
    return getAs(user, "secret", path);
  }

  HttpResponse<String> getAs(String user, String password, String path) {
    return get(path, "Authorization", basic(user, password));
  }

  CompletableFuture<Integer> statusAs(String user, String password, String path) {
    return CLIENT
        .sendAsync(
            request("GET", path, "Authorization", basic(user, password)),
            HttpResponse.BodyHandlers.ofString())
        .thenApply(HttpResponse::statusCode);
  }

  private static String basic(String user, String password) {
    byte[] both = (user + ":" + password).getBytes(StandardCharsets.UTF_8);
    return "Basic " + Base64.getEncoder().encodeToString(both);
  }

  HttpResponse<String> send(String method, String path, String... headers) {
    return send(request(method, path, headers));
  }

  private static HttpResponse<String> send(HttpRequest request) {
    try {
      return CLIENT.send(request, HttpResponse.BodyHandlers.ofString());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Sends the fields of a form. */
  HttpResponse<String> post(String path, String form, String... headers) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(request("POST", path, headers), (name, value) -> true)
            .header("Content-Type", "application/x-www-form-urlencoded")
            .POST(HttpRequest.BodyPublishers.ofString(form));
    return send(request.build());
  }

  /** Sends JSON. */
  HttpResponse<String> postJson(String path, String json) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(request("POST", path), (name, value) -> true)
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(json));
    return send(request.build());
  }

  /** What a server wrote to a request as it stands, which no client has put right. */
  record Raw(int status, String head, String body) {
    boolean counted() {
      return head.toLowerCase(Locale.ROOT).contains("\r\nx-ratelimit-limit:");
    }
  }

  /** Sends a request whose target no client would write. */
  Raw raw(String method, String target, String... headers) {
    return raw(LOOPBACK, port(), method, target, headers);
  }

  /** Sends it from one address of this machine to a port of another. */
  static Raw raw(String from, int port, String method, String target, String... headers) {
    StringBuilder request = new StringBuilder();
    request.append("%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\n".formatted(method, target));
    for (int i = 0; i < headers.length; i += 2) {
      request.append("%s: %s\r\n".formatted(headers[i], headers[i + 1]));
    }
    request.append("Connection: close\r\n\r\n");
    try (Socket socket =
        new Socket(InetAddress.getLoopbackAddress(), port, InetAddress.getByName(from), 0)) {
      socket.setSoTimeout(20_000);
      socket.getOutputStream().write(request.toString().getBytes(StandardCharsets.ISO_8859_1));
      String answer =
          new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
      int end = answer.indexOf("\r\n\r\n");
      return new Raw(
          Integer.parseInt(answer.substring(9, 12)),
          answer.substring(0, end),
          answer.substring(end));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  CompletableFuture<Integer> statusOf(String path) {
    return CLIENT
        .sendAsync(request("GET", path), HttpResponse.BodyHandlers.ofString())
        .thenApply(HttpResponse::statusCode);
  }

  private HttpRequest request(String method, String path, String... headers) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port() + path))
            .timeout(Duration.ofSeconds(20))
            .header("Connection", "close")
            .method(method, HttpRequest.BodyPublishers.noBody());
    return (headers.length == 0 ? request : request.headers(headers)).build();
  }

  static String header(HttpResponse<String> answer, String name) {
    return answer.headers().firstValue(name).orElse("none");
  }

  @Override
  public void close() {
    context.close();
  }
}
