package dev.sluice.redis.wire;

import io.lettuce.core.codec.StringCodec;
import io.netty.buffer.ByteBufUtil;
import java.nio.charset.StandardCharsets;

/**
 * Encodes strings in UTF-8. It knows their exact size beforehand, so the client writes them
 * directly into its buffer. Otherwise the client would copy each key and argument through a
 * temporary buffer.
 */
public final class Utf8 extends StringCodec {
  /** The one instance. */
  public static final Utf8 CODEC = new Utf8();

  private Utf8() {
    super(StandardCharsets.UTF_8);
  }

  @Override
  public int estimateSize(Object text) {
    return text instanceof String string ? ByteBufUtil.utf8Bytes(string) : 0;
  }

  @Override
  public boolean isEstimateExact() {
    return true;
  }
}
