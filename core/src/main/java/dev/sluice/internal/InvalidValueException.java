package dev.sluice.internal;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A value that cannot be used: where it was found, what it was, and what is expected.
 *
 * <p>The message reads like {@code rule 'login': limit: 0 (expected: at least 1)}.
 */
public final class InvalidValueException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  private final @Nullable String place;
  private final @Nullable String name;
  private final String found;
  private final String advice;

  private InvalidValueException(
      @Nullable String place,
      @Nullable String name,
      String found,
      String advice,
      @Nullable Throwable cause) {
    super(
        (place == null ? "" : place + ": ")
            + (name == null ? "" : name + ": ")
            + found
            + (advice.isEmpty() ? "" : " (" + advice + ")"),
        cause);
    this.place = place;
    this.name = name;
    this.found = Objects.requireNonNull(found, "found");
    this.advice = advice;
  }

  /**
   * An invalid value.
   *
   * @param name what was set, such as {@code limit}; null if the place says it
   * @param found what it was set to
   * @param expected what is valid
   */
  public static InvalidValueException of(@Nullable String name, String found, String expected) {
    return new InvalidValueException(null, name, found, "expected: " + expected, null);
  }

  /**
   * An invalid value, with advice.
   *
   * @param advice what to do about it, such as {@code did you mean 'login'?}
   */
  public static InvalidValueException advising(@Nullable String name, String found, String advice) {
    return new InvalidValueException(null, name, found, advice, null);
  }

  /** The same error with a place, such as {@code rule 'login'}. */
  public InvalidValueException in(String where) {
    return new InvalidValueException(where, name, found, advice, this);
  }

  /** The same error under another name. */
  public InvalidValueException named(String other) {
    return new InvalidValueException(place, other, found, advice, this);
  }

  /** Where it was found, or null. */
  public @Nullable String place() {
    return place;
  }

  /** What was set, or null. */
  public @Nullable String name() {
    return name;
  }

  /** What it was set to. */
  public String found() {
    return found;
  }

  /** What is expected, or what was probably meant. */
  public String advice() {
    return advice;
  }
}
