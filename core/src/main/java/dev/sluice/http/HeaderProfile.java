package dev.sluice.http;

import dev.sluice.internal.InvalidValueException;
import dev.sluice.internal.Text;
import java.util.Arrays;
import java.util.List;

/**
 * Which rate limit header fields are sent to clients. {@code Retry-After} is always sent.
 *
 * <p>The IETF draft still changes, so its profile carries the number of the draft. A newer draft
 * will be another profile, and an update changes no header.
 */
public enum HeaderProfile {
  /**
   * {@code X-RateLimit-Limit}, {@code -Remaining} and {@code -Reset}, which is in seconds from now.
   */
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
