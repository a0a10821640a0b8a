package dev.sluice;

import java.time.Instant;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Where rules come from and how changes arrive. Thread-safe.
 *
 * <p>A source always has rules. If a change is invalid or cannot be fetched, the last good rules
 * stay in force and {@link #failure()} says what is wrong.
 */
public interface RuleSource extends AutoCloseable {
  /** The rules in force now. Must be cheap: every decision calls it. */
  Rules rules();

  /** What is wrong with the newest rules, if they were refused. */
  default Optional<Failure> failure() {
    return Optional.empty();
  }

  /**
   * Adds a check that new rules must pass before they come into force. Rules that fail it are
   * refused like invalid ones, at once. A source that never changes or cannot refuse a change
   * ignores it.
   *
   * @param check throws an {@link IllegalArgumentException} that says what is wrong
   */
  default void require(Consumer<Rules> check) {}

  @Override
  default void close() {}

  /** Rules that never change. */
  static RuleSource fixed(Rules rules) {
    Objects.requireNonNull(rules, "rules");
    return () -> rules;
  }

  /**
   * Why newer rules are not in force.
   *
   * @param since when the source began to fail
   * @param message what is wrong, for operators
   */
  record Failure(Instant since, String message) {
    /** Requires both. */
    public Failure {
      Objects.requireNonNull(since, "since");
      Objects.requireNonNull(message, "message");
    }
  }
}
