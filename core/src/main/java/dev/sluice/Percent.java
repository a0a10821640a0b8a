package dev.sluice;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

/** Percent-encoding of UTF-8, strict enough that two values never share a text. */
final class Percent {
  private static final String HEX = "0123456789ABCDEF";
  private static final boolean[] PLAIN = new boolean[128];

  static {
    for (char c = 0; c < PLAIN.length; c++) {
      PLAIN[c] = Character.isLetterOrDigit(c) || "-._~@:+/".indexOf(c) >= 0;
    }
  }

  private Percent() {}

  static String encode(String value) {
    if (isPlain(value)) {
      return value;
    }
    StringBuilder to = new StringBuilder(3 * value.length());
    for (byte b : value.getBytes(StandardCharsets.UTF_8)) {
      if (b >= 0 && PLAIN[b]) {
        to.append((char) b);
      } else {
        to.append('%').append(HEX.charAt((b & 0xff) >> 4)).append(HEX.charAt(b & 15));
      }
    }
    return to.toString();
  }

  /** Whether it is its own encoding, as most are: one is written for every decision on Redis. */
  private static boolean isPlain(String value) {
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      if (c >= PLAIN.length || !PLAIN[c]) {
        return false;
      }
    }
    return true;
  }

  static String decode(String text) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(text.length());
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c != '%') {
        bytes.writeBytes(String.valueOf(c).getBytes(StandardCharsets.UTF_8));
        continue;
      }
      boolean whole = i + 2 < text.length();
      int high = whole ? Character.digit(text.charAt(i + 1), 16) : -1;
      int low = whole ? Character.digit(text.charAt(i + 2), 16) : -1;
      if (high < 0 || low < 0) {
        throw new IllegalArgumentException(
            "identity: '" + text + "' (expected: two hex digits after %)");
      }
      bytes.write(high * 16 + low);
      i += 2;
    }
    return bytes.toString(StandardCharsets.UTF_8);
  }
}
