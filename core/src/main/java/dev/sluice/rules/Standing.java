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
  private volatile Rules rules;
  private volatile RuleSource.@Nullable Failure failure;

  Standing(String name, Rules first, InstantSource clock) {
    this.name = name;
    this.rules = first;
    this.clock = clock;
    log.info("{}: {} rules in force", name, first.size());
  }

  Rules rules() {
    return rules;
  }

  Optional<RuleSource.Failure> failure() {
    return Optional.ofNullable(failure);
  }

  /** Puts rules in force; those that say the same as before stay as they are. */
  void accept(Rules newest) {
    boolean changed = !newest.equals(rules);
    if (changed) {
      rules = newest;
    }
    if (changed || failure != null) {
      log.info("{}: {} rules in force", name, newest.size());
    }
    failure = null;
  }

  /** Keeps the rules in force, and says since when and why; each reason is logged once in a row. */
  void refuse(String reason) {
    RuleSource.Failure before = failure;
    if (before == null || !before.message().equals(reason)) {
      log.error("{}: refused, the rules from before stay in force:\n{}", name, reason);
    }
    failure = new RuleSource.Failure(before == null ? clock.instant() : before.since(), reason);
  }
}
