package dev.sluice.redis;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** A Lua script, put together from the files beside this class, and its digest for EVALSHA. */
record Script(String text, String digest) {
  /** Every kind of plan and all other operations. */
  static final Script WHOLE =
      of("layout", "arithmetic", "bucket", "window", "parts", "log", "form", "account", "take");

  /** The commonest plans only, one charge on one bucket, in a script that is cheap to start. */
  static final Script QUICK = of("layout", "quick");

  /** One plan of the same kind, in a script that is cheaper still. */
  static final Script ONE = of("layout", "one");

  /** Plans on any number of buckets and windows. */
  static final Script PLAIN = of("layout", "plain");

  /** What the quick and the plain script say of a plan that they did nothing about. */
  static final long SLOW = -9_007_199_254_740_991L;

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
