package dev.sluice.spring.call;

import java.net.URI;
import java.net.URL;
import java.time.temporal.Temporal;
import java.util.Date;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Converts single values to the text of a facet. */
public final class Scalars {
  /*
   * Lists and objects are errors. The text of a list depends on its order, and that of an object may
   * differ with every call. Each text would be a new account, and the limit would never be reached.
   * Dates and URLs are allowed because Spring Security converts claims to them.
   */
  private Scalars() {}

  /**
   * The text of a value; null if there is none.
   *
   * @param what the name of the value in the error message
   */
  public static @Nullable String text(String what, @Nullable Object value) {
    if (value == null) {
      return null;
    }
    if (value instanceof CharSequence
        || value instanceof Number
        || value instanceof Boolean
        || value instanceof Character
        || value instanceof Enum<?>
        || value instanceof UUID
        || value instanceof URI
        || value instanceof URL
        || value instanceof Date
        || value instanceof Temporal) {
      return value.toString();
    }
    throw new IllegalArgumentException(
        "%s is %s (expected: a single value: text, a number, true or false)"
            .formatted(what, kind(value)));
  }

  /** The kind of a value; the value itself may be private. */
  private static String kind(Object value) {
    if (value instanceof Iterable<?> || value.getClass().isArray()) {
      return "a list";
    }
    return value instanceof Map<?, ?> ? "an object" : "a " + value.getClass().getSimpleName();
  }
}
