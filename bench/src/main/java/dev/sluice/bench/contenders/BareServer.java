package dev.sluice.bench.contenders;

import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.server.Server;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;

/** The baseline for the service: plain Armeria, which answers fixed JSON on the same paths. */
public final class BareServer {
  /** The paths that it answers, as those of the service. */
  public static final String CHECK = "/v1/check";

  public static final String GATE = "/v1/gate/OpenGate";

  /** The beginning of the line that prints the server's address. */
  public static final String LISTENS = "Bare Armeria listens on ";

  private static final HttpData FIXED =
      HttpData.wrap("{\"allowed\":true}".getBytes(StandardCharsets.UTF_8));

  private BareServer() {}

  public static void main(String[] arguments) {
    Server server = start();
    System.out.println(LISTENS + "http://127.0.0.1:" + server.activeLocalPort());
  }

  /** A check reads its whole body, as the service has to. */
  static Server start() {
    Server server =
        Server.builder()
            .http(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
            .service(
                CHECK,
                (ctx, request) ->
                    HttpResponse.of(request.aggregate().thenApply(whole -> BareServer.answer())))
            .service(GATE, (ctx, request) -> answer())
            .build();
    server.start().join();
    return server;
  }

  private static HttpResponse answer() {
    return HttpResponse.of(HttpStatus.OK, MediaType.JSON, FIXED);
  }
}
