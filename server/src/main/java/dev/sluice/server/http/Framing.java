package dev.sluice.server.http;

import dev.sluice.internal.Text;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.ByteToMessageDecoder;
import io.netty.handler.codec.DecoderResult;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.ssl.ApplicationProtocolNegotiationHandler;
import io.netty.util.ReferenceCountUtil;
import java.util.List;
import java.util.Map;

/**
 * Refuses requests over HTTP/1 with a Transfer-Encoding other than {@code chunked}, and closes
 * their connection; closes one with too many requests whose answers are not read; puts {@link
 * KeptConnections} into the pipeline.
 *
 * <p>Armeria does not look at an encoding that it does not know: it takes the body for the next
 * request, while a proxy in front may see one request only.
 */
public final class Framing extends ByteToMessageDecoder {
  /*
   * The check has to stand between Armeria's HTTP/1 codec and what answers, and the codec joins the
   * pipeline only when the first four bytes have shown whether it is HTTP/1 or HTTP/2. They are never a whole
   * request. So they are passed on alone, then the check is put behind the codec, then the rest
   * follows. Over TLS the codec is there before the first byte, once the handshake has chosen the
   * protocol; then this stands behind what decrypts.
   */
  private static final int PREFACE_BYTES = 4;
  private static final String CODEC = "HttpServerCodec";

  private static final KeptConnections KEPT_CONNECTIONS = new KeptConnections();

  /** Requests that a client may send on one connection before it has the answer to the first. */
  private static final int MOST_UNANSWERED = 64;

  /** What the refusal says. */
  static final class UnknownCoding extends RuntimeException {
    private static final long serialVersionUID = 1L;

    UnknownCoding(List<String> found) {
      super(
          "Transfer-Encoding: %s (expected: chunked or none)"
              .formatted(Text.quoted(String.join(", ", found))),
          null,
          false,
          false);
    }
  }

  /** Watches over a new connection, plain or TLS. */
  public static void on(ChannelPipeline pipeline) {
    for (Map.Entry<String, ChannelHandler> each : pipeline) {
      if (each.getValue() instanceof ApplicationProtocolNegotiationHandler) {
        pipeline.addBefore(each.getKey(), null, new Framing());
        return;
      }
    }
    pipeline.addFirst(new Framing());
  }

  @Override
  protected void decode(ChannelHandlerContext ctx, ByteBuf in, List<Object> out) {
    if (in.readableBytes() < PREFACE_BYTES) {
      return;
    }
    ctx.fireChannelRead(in.readRetainedSlice(PREFACE_BYTES));
    ChannelPipeline pipeline = ctx.pipeline();
    for (Map.Entry<String, ChannelHandler> each : pipeline) {
      if (each.getValue().getClass().getSimpleName().equals(CODEC)) {
        pipeline.addAfter(each.getKey(), null, KEPT_CONNECTIONS);
        pipeline.addAfter(each.getKey(), null, new Check());
        break;
      }
    }
    pipeline.remove(this); // hands on what is left
  }

  /** Looks at the head of every request, and counts those that are not answered yet. */
  private static final class Check extends ChannelDuplexHandler {
    private boolean refused;
    private int unanswered;

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise)
        throws Exception {
      if (message instanceof LastHttpContent) {
        unanswered--;
      }
      super.write(ctx, message, promise);
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
      if (refused) {
        ReferenceCountUtil.release(message);
        return;
      }
      if (message instanceof HttpRequest && ++unanswered > MOST_UNANSWERED) {
        refused = true; // it does not read its answers: they would fill the memory
        ReferenceCountUtil.release(message);
        var unused = ctx.close();
        return;
      }
      if (message instanceof HttpRequest request
          && request.headers().contains(HttpHeaderNames.TRANSFER_ENCODING)) {
        List<String> codings = request.headers().getAll(HttpHeaderNames.TRANSFER_ENCODING);
        boolean known =
            codings.size() == 1 && HttpHeaderValues.CHUNKED.contentEqualsIgnoreCase(codings.get(0));
        if (!known) {
          refused = true;
          request.setDecoderResult(DecoderResult.failure(new UnknownCoding(codings)));
        }
      }
      ctx.fireChannelRead(message);
    }
  }
}
