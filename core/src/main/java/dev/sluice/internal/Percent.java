package dev.sluice.internal;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;

/** Percent-encoding of UTF-8. Two values never share an encoding. */
public final class Percent {
  private static final String HEX = "0123456789ABCDEF";
  private static final boolean[] PLAIN = new boolean[128];

  static {
    for (char c = 0; c < PLAIN.length; c++) {
      PLAIN[c] = Character.isLetterOrDigit(c) || "-._~@:+/".indexOf(c) >= 0;
    }
  }

  private Percent() {}

  public static String encode(String value) {
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

  /**
   * Whether the value needs no encoding. That is the common case, and every decision on Redis
   * encodes one.
   */
  private static boolean isPlain(String value) {
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      if (c >= PLAIN.length || !PLAIN[c]) {
        return false;
      }
    }
    return true;
  }

  public static String decode(String text) {
    if (text.indexOf('%') < 0) {
      return text;
    }
    StringBuilder decoded = new StringBuilder(text.length());
    for (int i = 0; i < text.length(); ) {
      if (text.charAt(i) != '%') {
        decoded.append(text.charAt(i++));
        continue;
      }
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      for (; i < text.length() && text.charAt(i) == '%'; i += 3) {
        bytes.write(octet(text, i));
      }
      decoded.append(utf8(text, bytes.toByteArray()));
    }
    return decoded.toString();
  }

  private static int octet(String text, int percent) {
    boolean good =
        percent + 2 < text.length()
            && HexFormat.isHexDigit(text.charAt(percent + 1))
            && HexFormat.isHexDigit(text.charAt(percent + 2));
    if (!good) {
      throw InvalidValueException.of("identity", Text.quoted(text), "two hex digits after %");
    }
    return HexFormat.fromHexDigits(text, percent + 1, percent + 3);
  }

  private static CharBuffer utf8(String text, byte[] bytes) {
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes));
    } catch (CharacterCodingException e) {
      throw InvalidValueException.of("identity", Text.quoted(text), "UTF-8 after %");
    }
  }
}
