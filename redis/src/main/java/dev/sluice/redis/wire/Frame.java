package dev.sluice.redis.wire;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Words of a command as bytes, in the protocol of Redis: {@code $3}, a line break, {@code GET}. */
final class Frame {
  private static final int MOST_HEADER = 16; // "$", ten digits, two line breaks

  private byte[] bytes;
  private int size;
  private int count;

  Frame(int expectedBytes) {
    this.bytes = new byte[expectedBytes];
  }

  /** Adds a word, given in parts. */
  void add(String... parts) {
    int characters = 0;
    int length = 0;
    for (String part : parts) {
      characters += part.length();
      length += ByteBufUtil.utf8Bytes(part);
    }
    begin(length);
    for (String part : parts) {
      write(part, length == characters);
    }
    end();
  }

  /** Adds a word of the bytes that were written to another frame. */
  void add(Frame raw) {
    begin(raw.size);
    System.arraycopy(raw.bytes, 0, bytes, size, raw.size);
    size += raw.size;
    end();
  }

  /** Writes a byte that is no word by itself. */
  void write(int octet) {
    makeRoom(1);
    bytes[size++] = (byte) octet;
  }

  private void begin(int length) {
    makeRoom(length + MOST_HEADER);
    bytes[size++] = '$';
    writeDigits(length);
    endLine();
  }

  private void end() {
    endLine();
    count++;
  }

  @SuppressWarnings("deprecation") // it copies ASCII without a temporary array
  private void write(String text, boolean isAscii) {
    if (isAscii) {
      text.getBytes(0, text.length(), bytes, size);
      size += text.length();
    } else {
      byte[] encoded = text.getBytes(StandardCharsets.UTF_8);
      System.arraycopy(encoded, 0, bytes, size, encoded.length);
      size += encoded.length;
    }
  }

  private void writeDigits(int number) {
    if (number >= 10) {
      writeDigits(number / 10);
    }
    bytes[size++] = (byte) ('0' + number % 10);
  }

  private void endLine() {
    bytes[size++] = '\r';
    bytes[size++] = '\n';
  }

  private void makeRoom(int more) {
    if (size + more > bytes.length) {
      bytes = Arrays.copyOf(bytes, Math.max(2 * bytes.length, size + more));
    }
  }

  /** How many words it has. */
  int count() {
    return count;
  }

  /** How many bytes it has, so where the next word begins. */
  int size() {
    return size;
  }

  /** Whether the last word, which begins at {@code last}, is the same as the one at {@code at}. */
  boolean repeats(int at, int last) {
    return Arrays.equals(bytes, at, at + size - last, bytes, last, size);
  }

  /** Removes the last word, which begins there. */
  void removeLast(int last) {
    size = last;
    count--;
  }

  /** Removes everything. */
  void clear() {
    size = 0;
    count = 0;
  }

  void copyTo(ByteBuf buffer) {
    buffer.writeBytes(bytes, 0, size);
  }
}
