package dev.sluice.http;

import dev.sluice.internal.InvalidValueException;
import dev.sluice.internal.Text;
import java.util.Arrays;
import java.util.List;

/**
 * The header fields that tell a client where it stands. {@code Retry-After} is sent in any case.
 *
 * <p>The IETF draft still moves, so its form is named with its number: a newer one will be another
 * profile, and nobody's headers change by an update.
 */
public enum HeaderProfile {
  /** {@code X-RateLimit-Limit}, {@code -Remaining} and {@code -Reset}, in seconds until then. */
  X_RATELIMIT("x-ratelimit"),
  /** {@code RateLimit} and {@code RateLimit-Policy} of draft-ietf-httpapi-ratelimit-headers-11. */
  DRAFT_11("draft-11"),
  /** The fields of both. */
  BOTH("both"),
  /** No fields but {@code Retry-After}. */
  NONE("none");

  private final String text;

  HeaderProfile(String text) {
    this.text = text;
  }

  /** Reads the name that {@link #toString()} writes. */
  public static HeaderProfile parse(String text) {
    for (HeaderProfile profile : values()) {
      if (profile.text.equals(text)) {
        return profile;
      }
    }
    List<String> names = Arrays.stream(values()).map(HeaderProfile::toString).toList();
    throw InvalidValueException.of(
        "headers", Text.quoted(text), "one of %s".formatted(String.join(", ", names)));
  }

  boolean hasXRateLimit() {
    return this == X_RATELIMIT || this == BOTH;
  }

  boolean hasDraft11() {
    return this == DRAFT_11 || this == BOTH;
  }

  @Override
  public String toString() {
    return text;
  }
}
