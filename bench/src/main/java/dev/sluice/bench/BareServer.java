package dev.sluice.bench;

import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.server.Server;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;

/** What the service is compared with: Armeria as it comes, answering a fixed JSON on its paths. */
public final class BareServer {
  /** What the line begins with that tells where it listens. */
  static final String LISTENS = "Bare Armeria listens on ";

  private static final HttpData FIXED =
      HttpData.wrap("{\"allowed\":true}".getBytes(StandardCharsets.UTF_8));

  private BareServer() {}

  public static void main(String[] arguments) {
    Server server = start();
    System.out.println(LISTENS + "http://127.0.0.1:" + server.activeLocalPort());
  }

  /** A check reads its body whole, as anyone must who looks into it. */
  static Server start() {
    Server server =
        Server.builder()
            .http(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
            .service(
                HttpSuite.CHECK,
                (ctx, request) ->
                    HttpResponse.of(request.aggregate().thenApply(whole -> BareServer.answer())))
            .service(HttpSuite.GATE, (ctx, request) -> answer())
            .build();
    server.start().join();
    return server;
  }

  private static HttpResponse answer() {
    return HttpResponse.of(HttpStatus.OK, MediaType.JSON, FIXED);
  }
}
