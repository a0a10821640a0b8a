package dev.sluice.redis.wire;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Collectors;

/**
 * The Lua code that Redis runs, as a function library and as a script.
 *
 * <p>The name of the library contains a digest of its text, so that two versions can run side by
 * side during a rollout.
 */
public final class Library {
  /** The prefix of the names of all libraries, whatever their version. */
  public static final String PREFIX = "sluice_";

  private static final List<String> PLAIN_FILES =
      List.of(
          "basics",
          "call",
          "kinds",
          "token_bucket",
          "fixed_window",
          "sliding_window",
          "sliding_log",
          "form",
          "terms",
          "plain");
  private static final List<String> OTHER_FILES =
      List.of(
          "row",
          "load",
          "change",
          "reservations",
          "flush",
          "locks",
          "judge",
          "calls",
          "settle",
          "operations");
  private static final String ENTRY = "run";
  private static final int DIGITS = 16;

  private static final String BODY =
      read("whole") + joined(PLAIN_FILES) + joined(OTHER_FILES) + read(ENTRY);

  /** The name of the library and of its function. */
  public static final String NAME = PREFIX + digest(BODY).substring(0, DIGITS);

  /** The same function without writes, for a Redis that refuses writes. */
  static final String READING_NAME = NAME + "_reading";

  /** The text of the library, for FUNCTION LOAD. */
  public static final String TEXT =
      """
      #!lua name=%1$s
      %3$s
      redis.register_function('%1$s', run)
      redis.register_function{function_name='%2$s', callback=run, flags={'no-writes'}}
      """
          .formatted(NAME, READING_NAME, BODY);

  private static final String CALL = "\nreturn run(KEYS, ARGV)\n";

  /** The same as a script, for EVAL. */
  static final String SCRIPT = BODY + CALL;

  /** The digest of the script, for EVALSHA. */
  static final String SCRIPT_DIGEST = digest(SCRIPT);

  /** A script of those files that decide usual plans; it says which plans it cannot decide. */
  static final String SHORT_SCRIPT = read("short") + joined(PLAIN_FILES) + read(ENTRY) + CALL;

  /** The digest of the short script. */
  static final String SHORT_SCRIPT_DIGEST = digest(SHORT_SCRIPT);

  private Library() {}

  private static String joined(List<String> files) {
    return files.stream().map(Library::read).collect(Collectors.joining("\n", "", "\n"));
  }

  private static String read(String name) {
    try (InputStream in = Library.class.getResourceAsStream("/dev/sluice/redis/" + name + ".lua")) {
      if (in == null) {
        throw new IllegalStateException("missing from the jar: " + name);
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String digest(String text) {
    try {
      byte[] digest =
          MessageDigest.getInstance("SHA-1").digest(text.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(digest);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JVM has SHA-1", e);
    }
  }
}
