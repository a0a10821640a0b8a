package dev.sluice.demo;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.springframework.boot.SpringApplication;
import org.springframework.context.ConfigurableApplicationContext;

/** The shop on a free loopback port. */
final class RunningShop implements AutoCloseable {
  private static final HttpClient CLIENT = HttpClient.newHttpClient();

  private final ConfigurableApplicationContext context;

  RunningShop(String store, Class<?>... more) {
    this(store, List.of(), more);
  }

  RunningShop(String store, List<String> properties, Class<?>... more) {
    List<Class<?>> sources = new ArrayList<>(List.of(more));
    sources.add(Demo.class);
    List<String> arguments = new ArrayList<>(properties);
    arguments.addAll(List.of("--server.port=0", "--sluice.store=" + store, "--sluice.deadline=5s"));
    this.context =
        new SpringApplication(sources.toArray(new Class<?>[0]))
            .run(arguments.toArray(new String[0]));
  }

  <T> T bean(Class<T> type) {
    return context.getBean(type);
  }

  String url() {
    return "http://127.0.0.1:" + context.getEnvironment().getProperty("local.server.port");
  }

  HttpResponse<String> send(String method, String path, String... headers) {
    return send(method, path, HttpRequest.BodyPublishers.noBody(), headers);
  }

  /** Sends the fields of a form. */
  HttpResponse<String> post(String path, String form, String... headers) {
    List<String> all = new ArrayList<>(List.of(headers));
    all.addAll(List.of("Content-Type", "application/x-www-form-urlencoded"));
    return send(
        "POST", path, HttpRequest.BodyPublishers.ofString(form), all.toArray(new String[0]));
  }

  private HttpResponse<String> send(
      String method, String path, HttpRequest.BodyPublisher body, String... headers) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(url() + path)).method(method, body);
    try {
      return CLIENT.send(
          (headers.length == 0 ? request : request.headers(headers)).build(),
          HttpResponse.BodyHandlers.ofString());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** The statuses of the same request, sent again and again. */
  List<Integer> statuses(int times, String method, String path, String... headers) {
    return IntStream.range(0, times)
        .mapToObj(i -> send(method, path, headers).statusCode())
        .toList();
  }

  @Override
  public void close() {
    context.close();
  }
}
