package dev.sluice.server.http;

import com.linecorp.armeria.common.ContentTooLargeException;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpRequest;
import java.util.concurrent.CompletableFuture;

/** The bodies of requests. */
public final class Body {
  /*
   * One that is too large is read to its end and dropped, and only then answered: a client that is
   * still sending does not listen. Over HTTP/2 Armeria follows an early answer with a reset of the
   * stream, and of the two some clients only see the reset; over HTTP/1 the connection closes under
   * the client's hands. What is beyond LARGEST_DROPPED ends that way all the same.
   */
  public static final int LARGEST_DROPPED = 16 << 20;

  private Body() {}

  /** The whole of a body; a failed future if it is longer than {@code most}. */
  public static CompletableFuture<byte[]> read(HttpRequest request, int most) {
    long declared = request.headers().contentLength();
    if (declared >= 0 && declared <= most) {
      return request.aggregate().thenApply(whole -> whole.content().array());
    }
    long[] seen = new long[1];
    return request
        .mapData(
            data -> {
              seen[0] += data.length();
              return seen[0] <= most ? data : HttpData.empty();
            })
        .aggregate()
        .thenApply(
            whole -> {
              if (seen[0] > most) {
                throw ContentTooLargeException.builder().maxContentLength(most).build();
              }
              return whole.content().array();
            });
  }

  /** Reads a body to its end, as its sender would not listen before; nobody wants to see it. */
  public static void drop(HttpRequest request) {
    if (!request.isEmpty()) {
      var unused = request.subscribe();
    }
  }
}
