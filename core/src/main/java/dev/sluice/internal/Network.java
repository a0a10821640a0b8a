package dev.sluice.internal;

import org.jspecify.annotations.Nullable;

/**
 * A range of addresses such as {@code 10.0.0.0/8}, all of one family. A single address is a range
 * of one.
 *
 * @param first its first address
 * @param bits how many of the 128 bits of {@link Address} all its addresses share
 */
public record Network(Address first, int bits) {
  /*
   * Strict, because a range that is read more widely than it was meant makes strangers trusted. A
   * prefix inside ::ffff:0:0/96 is refused rather than guessed at: is /8 of the mapped form 8 bits
   * or 104? Bits set behind the prefix are refused, too.
   */
  private static final int WIDTH = 128;

  /** Reads {@code 192.0.2.1}, {@code 10.0.0.0/8} or {@code 2001:db8::/32}. */
  public static Network parse(String text) {
    int slash = text.indexOf('/');
    Address first = Address.parse(slash < 0 ? text : text.substring(0, slash));
    boolean mapped = first != null && first.isV4() && text.indexOf(':') >= 0;
    if (first == null || mapped || text.indexOf('%') >= 0) {
      throw refusal(
          text,
          mapped
              ? "IPv4 written as IPv4, such as 10.0.0.0/8"
              : "an address or a range, such as 10.0.0.0/8 or 2001:db8::/32");
    }
    int width = first.isV4() ? 32 : WIDTH;
    int length = slash < 0 ? width : length(text.substring(slash + 1));
    if (length < 0 || length > width) {
      throw refusal(text, "a prefix length of 0 to " + width);
    }
    int bits = first.isV4() ? WIDTH - 32 + length : length;
    if (!first.prefix(bits).equals(first)) {
      throw refusal(text, "no bits behind the prefix: " + first.prefix(bits) + "/" + length);
    }
    return new Network(first, bits);
  }

  /** The range that the value of a client-address facet stands for; null if it is none. */
  public static @Nullable Network ofCaller(String value) {
    if (value.indexOf('/') < 0) {
      Address one = Address.parse(value);
      return one == null ? null : new Network(one, WIDTH);
    }
    try {
      return parse(value);
    } catch (IllegalArgumentException noRange) {
      return null;
    }
  }

  public boolean holds(Address address) {
    return address.isV4() == first.isV4() && address.prefix(bits).equals(first);
  }

  /** Whether every address of another range is in this one. */
  public boolean holds(Network other) {
    return other.bits >= bits && holds(other.first);
  }

  private static int length(String text) {
    boolean plain = text.matches("0|[1-9][0-9]{0,2}");
    return plain ? Integer.parseInt(text) : -1;
  }

  private static IllegalArgumentException refusal(String text, String expected) {
    return InvalidValueException.of(null, Text.quoted(text), expected);
  }

  /**
   * The addresses that a value stands for in {@code exempt} or {@code when} of a rule; null if it
   * is compared as text. Values that would match nobody are refused: something else than addresses
   * for a facet that holds them, and a range for one that does not.
   *
   * @param isAddress whether the facet holds client addresses
   */
  public static @Nullable Network matching(boolean isAddress, String value) {
    if (isAddress) {
      return parse(value);
    }
    if (value.indexOf('/') >= 0 && ofCaller(value) != null) {
      throw InvalidValueException.of(
          null,
          "the range " + Text.quoted(value),
          "ranges only for a facet that is client-address");
    }
    return null;
  }

  /** The usual notation: {@code 192.0.2.1} for one address, {@code 10.0.0.0/8} for a range. */
  @Override
  public String toString() {
    int length = first.isV4() ? bits - (WIDTH - 32) : bits;
    return bits == WIDTH ? first.toString() : first + "/" + length;
  }
}
