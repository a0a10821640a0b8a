package dev.sluice.rules;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CoderResult;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.stream.IntStream;

/** Decodes the bytes of a file, or reports where they are no text. */
final class SourceText {
  private static final char BYTE_ORDER_MARK = '\uFEFF';

  private SourceText() {}

  /** Decodes UTF-8, without a leading byte order mark. */
  static String decoded(String file, byte[] bytes) {
    if (startsWith(bytes, 0xFE, 0xFF) || startsWith(bytes, 0xFF, 0xFE)) {
      throw RuleErrors.of(file, 1, "the encoding is UTF-16", "expected: UTF-8");
    }
    ByteBuffer in = ByteBuffer.wrap(bytes);
    CharBuffer out = CharBuffer.allocate(bytes.length);
    CoderResult result = StandardCharsets.UTF_8.newDecoder().decode(in, out, true);
    out.flip();
    if (result.isError()) {
      String before = out.toString();
      int line = lineAt(before, before.length());
      String found =
          "byte 0x%02X at position %d".formatted(bytes[in.position()] & 0xFF, in.position());
      throw RuleErrors.of(file, line, found, "expected: text in UTF-8");
    }
    return checked(file, out.toString());
  }

  /** Returns the text, or throws if it contains characters that are not allowed. */
  static String checked(String file, String text) {
    String plain = !text.isEmpty() && text.charAt(0) == BYTE_ORDER_MARK ? text.substring(1) : text;
    for (int i = 0; i < plain.length(); i++) {
      char c = plain.charAt(i);
      boolean control = (c < ' ' && c != '\t' && c != '\n' && c != '\r') || c == 0x7f;
      if (control || c == 0xFFFE || c == 0xFFFF) {
        String found = "the control character U+%04X".formatted((int) c);
        throw RuleErrors.of(file, lineAt(plain, i), found, "expected: text in UTF-8");
      }
    }
    return plain;
  }

  /** The line, counted from 1, of a position in a text. */
  static int lineAt(String text, int position) {
    int found = Arrays.binarySearch(lineStarts(text), position);
    return found >= 0 ? found + 1 : -found - 1;
  }

  /** Where each line begins. */
  static int[] lineStarts(String text) {
    IntStream.Builder starts = IntStream.builder().add(0);
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      boolean pair = c == '\r' && i + 1 < text.length() && text.charAt(i + 1) == '\n';
      if ((c == '\n' || c == '\r') && !pair) {
        starts.add(i + 1);
      }
    }
    return starts.build().toArray();
  }

  private static boolean startsWith(byte[] bytes, int first, int second) {
    return bytes.length >= 2 && (bytes[0] & 0xFF) == first && (bytes[1] & 0xFF) == second;
  }
}
