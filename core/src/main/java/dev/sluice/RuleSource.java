package dev.sluice;

import java.time.Instant;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Where rules come from, and how a change arrives. Thread-safe.
 *
 * <p>A source always has rules to give: when a change is bad or cannot be fetched, the last good
 * ones go on, and {@link #failure()} says what is wrong.
 */
public interface RuleSource extends AutoCloseable {
  /** The rules in force now. Cheap: called for every decision. */
  Rules rules();

  /** What is wrong with the newest rules, if they were refused. */
  default Optional<Failure> failure() {
    return Optional.empty();
  }

  /**
   * Adds a check that newer rules have to pass before they are in force. Rules that do not are
   * refused like any bad ones, at once and by whoever brings the change. A source whose rules never
   * change, or that cannot refuse a change, ignores it.
   *
   * @param check throws an {@link IllegalArgumentException} that says what is wrong
   */
  default void require(Consumer<Rules> check) {}

  @Override
  default void close() {}

  /** Rules that never change. */
  static RuleSource fixed(Rules rules) {
    return () -> rules;
  }

  /**
   * Why newer rules are not in force.
   *
   * @param since when the source began to fail
   */
  record Failure(Instant since, String message) {}
}
