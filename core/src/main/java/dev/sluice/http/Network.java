package dev.sluice.http;

import dev.sluice.Text;
import org.jspecify.annotations.Nullable;

/** A range of addresses such as {@code 10.0.0.0/8}; holds addresses of its own family only. */
record Network(Address first, int bits) {
  /*
   * Strict, because a range that is read more widely than it was meant makes strangers trusted: a
   * prefix inside ::ffff:0:0/96 is refused rather than guessed at (is /8 of the mapped form one of
   * eight bits, or of 104?), and so are bits set behind the prefix.
   */

  static Network parse(String text) {
    int slash = text.indexOf('/');
    Address first = Address.parse(slash < 0 ? text : text.substring(0, slash));
    boolean mapped = first != null && first.isV4() && text.indexOf(':') >= 0;
    if (first == null || mapped || text.indexOf('%') >= 0) {
      throw refusal(text, mapped ? "IPv4 written as IPv4, such as 10.0.0.0/8" : null);
    }
    int width = first.isV4() ? 32 : 128;
    int length = slash < 0 ? width : length(text.substring(slash + 1));
    if (length < 0 || length > width) {
      throw refusal(text, "a prefix length of 0 to " + width);
    }
    int bits = first.isV4() ? 96 + length : length;
    if (!first.prefix(bits).equals(first)) {
      throw refusal(text, "no bits behind the prefix: " + first.prefix(bits) + "/" + length);
    }
    return new Network(first, bits);
  }

  boolean holds(Address address) {
    return address.isV4() == first.isV4() && address.prefix(bits).equals(first);
  }

  private static int length(String text) {
    boolean plain = text.matches("0|[1-9][0-9]{0,2}");
    return plain ? Integer.parseInt(text) : -1;
  }

  private static IllegalArgumentException refusal(String text, @Nullable String expected) {
    return new IllegalArgumentException(
        "trusted proxy %s (expected: %s)"
            .formatted(
                Text.quoted(text),
                expected == null
                    ? "an address or a range, such as 10.0.0.0/8 or 2001:db8::/32"
                    : expected));
  }
}
