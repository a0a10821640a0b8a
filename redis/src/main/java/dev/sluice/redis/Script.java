package dev.sluice.redis;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;

/** A Lua script, put together from the files beside this class, and its digest for EVALSHA. */
record Script(String text, String digest) {
  /** Every kind of plan and all other operations. */
  static final Script WHOLE =
      of(
          "layout",
          "clock",
          "arithmetic",
          "bucket",
          "window",
          "parts",
          "log",
          "form",
          "locks",
          "account",
          "take");

  /** The commonest plans only, one charge on one bucket, in a script that is cheap to start. */
  static final Script QUICK = of("layout", "clock", "quick");

  /** One plan of the same kind, in a script that is cheaper still. */
  static final Script ONE = of("layout", "one");

  /** Plans on any number of buckets and windows. */
  static final Script PLAIN = of("layout", "clock", "plain");

  /** What the quick and the plain script say of a plan that they did nothing about. */
  static final long SLOW = -9_007_199_254_740_991L;

  /** 2026-01-01T00:00:00Z in microseconds, from which short forms count. */
  private static final long EPOCH = 1_767_225_600_000_000L;

  private static final int TAG_LENGTH = 4;

  /** A reply as the quick script gives it: that for one plan has made a text of its numbers. */
  static List<Object> numbers(List<Object> reply) {
    if (!(reply.get(0) instanceof String text)) {
      return reply;
    }
    int first = text.indexOf(',');
    int second = text.indexOf(',', first + 1);
    long now =
        Long.parseLong(text, 0, first, 10) * 1_000_000
            + Long.parseLong(text, first + 1, second, 10);
    return List.of(now, lacking(text.substring(second + 1), now));
  }

  /** What a bucket of such a short form lacks. */
  private static long lacking(String value, long now) {
    if (value.isEmpty()) {
      return 0;
    }
    if (value.equals("slow")) {
      return SLOW;
    }
    long fullAt = EPOCH + Long.parseLong(value, 0, value.length() - TAG_LENGTH, 10);
    return Math.max(0, fullAt - now);
  }

  private static Script of(String... files) {
    StringBuilder text = new StringBuilder();
    for (String file : files) {
      text.append(resource(file + ".lua")).append('\n');
    }
    return new Script(text.toString(), sha1(text.toString()));
  }

  private static String resource(String name) {
    try (InputStream in = Script.class.getResourceAsStream(name)) {
      if (in == null) {
        throw new IllegalStateException("missing from the jar: " + name);
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @SuppressWarnings("InsecureCryptoUsage") // the digest that Redis itself asks for
  private static String sha1(String text) {
    try {
      byte[] digest =
          MessageDigest.getInstance("SHA-1").digest(text.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(digest);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JVM has SHA-1", e);
    }
  }
}
