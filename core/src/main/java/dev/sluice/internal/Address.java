package dev.sluice.internal;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * An IP address as 128 bits. IPv4 is {@code ::ffff:a.b.c.d}, so both notations are equal. So is
 * {@code 64:ff9b::a.b.c.d}, the notation of NAT64 translators.
 *
 * <p>The parser is strict: text that two programs could read differently (octal, short or
 * hexadecimal IPv4, a second {@code ::}) is no address.
 */
public record Address(long high, long low) {
  private static final long MAPPED = 0xffffL << 32;
  private static final long TRANSLATED = 0x0064_ff9b_0000_0000L;

  /**
   * Parses an address without port or brackets; a zone ({@code %eth0}) is dropped. Null if it is
   * none.
   */
  public static @Nullable Address parse(String text) {
    if (text.indexOf(':') < 0) {
      long v4 = v4(text);
      return v4 < 0 ? null : new Address(0, MAPPED | v4);
    }
    int zone = text.indexOf('%');
    if (zone == text.length() - 1) {
      return null;
    }
    return v6(zone < 0 ? text : text.substring(0, zone));
  }

  public boolean isV4() {
    return high == 0 && low >>> 32 == 0xffff;
  }

  /** The first bits of this address, all others 0. */
  public Address prefix(int bits) {
    return new Address(
        bits >= 64 ? high : high & mask(bits), bits <= 64 ? 0 : low & mask(bits - 64));
  }

  private static long mask(int bits) {
    return bits == 0 ? 0 : -1L << (64 - bits);
  }

  /** Parses four decimal numbers without leading zeros; -1 if it is something else. */
  private static long v4(String text) {
    long address = 0;
    int parts = 0;
    int at = 0;
    while (at <= text.length()) {
      int end = text.indexOf('.', at);
      end = end < 0 ? text.length() : end;
      int part = octet(text, at, end);
      if (part < 0 || ++parts > 4) {
        return -1;
      }
      address = address << 8 | part;
      at = end + 1;
    }
    return parts == 4 ? address : -1;
  }

  private static int octet(String text, int from, int to) {
    if (to - from < 1 || to - from > 3 || (to - from > 1 && text.charAt(from) == '0')) {
      return -1;
    }
    int value = 0;
    for (int i = from; i < to; i++) {
      char c = text.charAt(i);
      if (c < '0' || c > '9') {
        return -1;
      }
      value = value * 10 + c - '0';
    }
    return value > 255 ? -1 : value;
  }

  private static @Nullable Address v6(String text) {
    int gap = text.indexOf("::");
    if (gap >= 0 && text.indexOf("::", gap + 1) >= 0) {
      return null;
    }
    int[] front = groups(gap < 0 ? text : text.substring(0, gap));
    int[] back = gap < 0 ? new int[0] : groups(text.substring(gap + 2));
    if (front == null || back == null) {
      return null;
    }
    int given = front.length + back.length;
    boolean dottedInFront = gap >= 0 && text.lastIndexOf('.', gap) >= 0;
    if (dottedInFront || (gap < 0 ? given != 8 : given > 7)) {
      return null;
    }
    int[] all = Arrays.copyOf(front, 8);
    System.arraycopy(back, 0, all, 8 - back.length, back.length);
    long high = word(all, 0);
    long low = word(all, 4);
    boolean translated = high == TRANSLATED && low >>> 32 == 0;
    return translated ? new Address(0, MAPPED | low) : new Address(high, low);
  }

  private static long word(int[] groups, int from) {
    return (long) groups[from] << 48
        | (long) groups[from + 1] << 32
        | (long) groups[from + 2] << 16
        | groups[from + 3];
  }

  /**
   * Parses groups of 16 bits joined by colons, the last two possibly as IPv4; null if it is
   * something else.
   */
  private static int @Nullable [] groups(String text) {
    if (text.isEmpty()) {
      return new int[0];
    }
    String[] parts = text.split(":", -1);
    int[] groups = new int[parts.length + 1];
    int count = 0;
    for (int i = 0; i < parts.length; i++) {
      if (i == parts.length - 1 && parts[i].indexOf('.') >= 0) {
        long v4 = v4(parts[i]);
        if (v4 < 0) {
          return null;
        }
        groups[count++] = (int) (v4 >> 16);
        groups[count++] = (int) (v4 & 0xffff);
      } else {
        int group = group(parts[i]);
        if (group < 0) {
          return null;
        }
        groups[count++] = group;
      }
    }
    return Arrays.copyOf(groups, count);
  }

  private static int group(String text) {
    if (text.isEmpty() || text.length() > 4) {
      return -1;
    }
    int value = 0;
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      int digit = c < 0x7f ? Character.digit(c, 16) : -1;
      if (digit < 0) {
        return -1;
      }
      value = value << 4 | digit;
    }
    return value;
  }

  /** The canonical text, RFC 5952. */
  @Override
  public String toString() {
    if (isV4()) {
      return (low >> 24 & 0xff)
          + "."
          + (low >> 16 & 0xff)
          + "."
          + (low >> 8 & 0xff)
          + "."
          + (low & 0xff);
    }
    int[] groups = new int[8];
    for (int i = 0; i < 8; i++) {
      groups[i] = (int) ((i < 4 ? high : low) >>> (48 - 16 * (i % 4)) & 0xffff);
    }
    int[] gap = longestGap(groups);
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < 8; i++) {
      if (i == gap[0]) {
        text.append("::");
        i = gap[1] - 1;
      } else {
        boolean joined = i == 0 || i == gap[1];
        text.append(joined ? "" : ":").append(Integer.toHexString(groups[i]));
      }
    }
    return text.toString();
  }

  /** The first longest run of two or more zero groups, as start and end; else -1 and -1. */
  private static int[] longestGap(int[] groups) {
    int[] best = {-1, -1};
    int longest = 1;
    for (int from = 0; from < 8; from++) {
      int to = from;
      while (to < 8 && groups[to] == 0) {
        to++;
      }
      if (to - from > longest) {
        longest = to - from;
        best = new int[] {from, to};
      }
    }
    return best;
  }
}
