package dev.sluice.rules.source;

import dev.sluice.RuleSource;
import dev.sluice.Rules;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The newest good rules of a source, and what is wrong with newer ones. One thread may change it.
 */
final class Standing {
  private static final Logger log = LoggerFactory.getLogger(RuleSource.class);

  private final String name;
  private final InstantSource clock;
  private final List<Consumer<Rules>> checks = new CopyOnWriteArrayList<>();
  private volatile State state;

  /** One value, so that nobody sees new rules beside the failure that they ended. */
  private record State(Rules rules, RuleSource.@Nullable Failure failure) {}

  Standing(String name, Rules first, InstantSource clock) {
    this.name = name;
    this.state = new State(first, null);
    this.clock = clock;
    tell(first);
  }

  private void tell(Rules inForce) {
    int size = inForce.size();
    log.info("{}: {} {} in force", name, size, size == 1 ? "rule" : "rules");
    inForce.warnings().forEach(log::warn);
  }

  Rules rules() {
    return state.rules;
  }

  Optional<RuleSource.Failure> failure() {
    return Optional.ofNullable(state.failure);
  }

  /** Adds a check, as {@link RuleSource#require} says. */
  void require(Consumer<Rules> check) {
    checks.add(check);
  }

  /**
   * Puts rules in force, unless a check refuses them; those that say the same as before stay as
   * they are.
   *
   * @return whether they are in force
   */
  boolean accept(Rules newest) {
    State before = state;
    boolean changed = !newest.equals(before.rules);
    if (changed) {
      try {
        checks.forEach(check -> check.accept(newest));
      } catch (IllegalArgumentException unfit) {
        refuse(String.valueOf(unfit.getMessage()));
        return false;
      }
    }
    if (changed || before.failure != null) {
      state = new State(changed ? newest : before.rules, null);
      tell(newest);
    }
    return true;
  }

  /** Keeps the rules in force, and says since when and why; each reason is logged once in a row. */
  void refuse(String reason) {
    State before = state;
    RuleSource.Failure known = before.failure;
    state =
        new State(
            before.rules,
            new RuleSource.Failure(known == null ? clock.instant() : known.since(), reason));
    if (known == null || !known.message().equals(reason)) {
      log.error("{}: refused, the rules from before stay in force:\n{}", name, reason);
    }
  }
}
