package dev.sluice.server;

import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.server.Server;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** What a proxy protects: answers everything with 200 and remembers what it was asked. */
final class Application implements AutoCloseable {
  /** A request that arrived. */
  record Asked(String method, String target, String forwardedFor, String body) {}

  private final List<Asked> asked = new CopyOnWriteArrayList<>();
  private final Server server =
      Server.builder()
          .http(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
          .service(
              "prefix:/",
              (ctx, request) ->
                  HttpResponse.of(
                      request
                          .aggregate()
                          .thenApply(
                              whole -> {
                                asked.add(
                                    new Asked(
                                        whole.method().name(),
                                        whole.path(),
                                        String.join(",", whole.headers().getAll("x-forwarded-for")),
                                        whole.contentUtf8()));
                                return HttpResponse.of("application");
                              })))
          .build();

  static Application start() {
    Application application = new Application();
    application.server.start().join();
    return application;
  }

  int port() {
    return server.activeLocalPort();
  }

  List<Asked> asked() {
    return asked;
  }

  @Override
  public void close() {
    server.stop().join();
  }
}
