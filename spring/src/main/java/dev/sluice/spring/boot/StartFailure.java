package dev.sluice.spring.boot;

import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The reason why an application cannot start, and what to do about it. */
final class StartFailure extends IllegalStateException {
  private static final long serialVersionUID = 1L;

  private final String action;

  private StartFailure(String description, String action, @Nullable Throwable cause) {
    super(description, cause);
    this.action = action;
  }

  /**
   * A failed start.
   *
   * @param mistakes the errors, each with its place
   * @param action what to do next
   */
  static StartFailure of(List<String> mistakes, String action, @Nullable Throwable cause) {
    return new StartFailure(described(mistakes), action, cause);
  }

  /** The errors, one per line. */
  static String described(List<String> mistakes) {
    return "Sluice cannot start:\n  " + String.join("\n", mistakes).replace("\n", "\n  ");
  }

  /** A property with a bad value; the message begins with its name. */
  static StartFailure ofProperty(String message, @Nullable Throwable cause) {
    return of(List.of(message), "Correct the property.", cause);
  }

  /** Parses a property; a bad value stops the start, with the name of the property. */
  static <T> T reading(String property, Supplier<T> reader) {
    try {
      return reader.get();
    } catch (IllegalArgumentException unfit) {
      // Messages of core begin with another name: "headers: 'x' (expected: …)".
      String found = String.valueOf(unfit.getMessage()).replaceFirst("^[A-Za-z0-9 ]+: ", "");
      throw ofProperty(property + ": " + found, unfit);
    }
  }

  String action() {
    return action;
  }
}
