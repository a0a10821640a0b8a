package dev.sluice.rules;

import dev.sluice.RuleSource;
import dev.sluice.Rules;
import java.time.InstantSource;
import java.util.Optional;
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
  private volatile State state;

  /** One value, so that nobody sees new rules beside the failure that they ended. */
  private record State(Rules rules, RuleSource.@Nullable Failure failure) {}

  Standing(String name, Rules first, InstantSource clock) {
    this.name = name;
    this.state = new State(first, null);
    this.clock = clock;
    log.info("{}: {} rules in force", name, first.size());
  }

  Rules rules() {
    return state.rules;
  }

  Optional<RuleSource.Failure> failure() {
    return Optional.ofNullable(state.failure);
  }

  /** Puts rules in force; those that say the same as before stay as they are. */
  void accept(Rules newest) {
    State before = state;
    boolean changed = !newest.equals(before.rules);
    if (changed || before.failure != null) {
      state = new State(changed ? newest : before.rules, null);
      log.info("{}: {} rules in force", name, newest.size());
    }
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
