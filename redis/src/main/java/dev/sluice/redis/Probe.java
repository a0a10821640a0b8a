package dev.sluice.redis;

import dev.sluice.Identity;
import dev.sluice.Intent;
import dev.sluice.Limit;
import dev.sluice.Rule;
import dev.sluice.store.Charge;
import dev.sluice.store.Plan;
import java.time.Duration;
import java.util.List;

/** Test calls by which a node checks whether Redis decides calls. */
final class Probe {
  private static final String NAME = "sluice-probe";
  private static final Rule RULE =
      Rule.builder(NAME)
          .by(NAME)
          .limit(Limit.tokenBucket(1_000_000, 1_000_000, Duration.ofMinutes(1)))
          .build();

  private Probe() {}

  /** A call that is counted; each number has an account of its own. */
  static Plan taking(int number) {
    return plan(number, Intent.TAKE);
  }

  /** A call that writes nothing. */
  static Plan peeking() {
    return plan(0, Intent.PEEK);
  }

  private static Plan plan(int number, Intent intent) {
    Identity identity = Identity.of(NAME, Integer.toString(number));
    Charge charge = new Charge(RULE, identity, RULE.terms(), 1);
    return new Plan(List.of(charge), intent, null, RULE.onStoreFailure());
  }
}
