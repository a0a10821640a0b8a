package dev.sluice;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

/** Percent-encoding of UTF-8, strict enough that two values never share a text. */
final class Percent {
  private static final String HEX = "0123456789ABCDEF";
  private static final String PLAIN = "-._~@:+/";

  private Percent() {}

  static void encode(String value, StringBuilder to) {
    for (byte b : value.getBytes(StandardCharsets.UTF_8)) {
      int c = b & 0xff;
      if ((c >= 'a' && c <= 'z')
          || (c >= 'A' && c <= 'Z')
          || (c >= '0' && c <= '9')
          || PLAIN.indexOf(c) >= 0) {
        to.append((char) c);
      } else {
        to.append('%').append(HEX.charAt(c >> 4)).append(HEX.charAt(c & 15));
      }
    }
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
