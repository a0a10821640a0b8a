package dev.sluice.redis.wire;

import io.lettuce.core.codec.StringCodec;
import io.netty.buffer.ByteBufUtil;
import java.nio.charset.StandardCharsets;

/**
 * Strings in UTF-8. It tells their exact size beforehand, so that the client writes them where they
 * belong; without that, it takes a buffer for each key and argument and copies it.
 */
public final class Utf8 extends StringCodec {
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
