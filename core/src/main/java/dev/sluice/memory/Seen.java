package dev.sluice.memory;

import dev.sluice.Balance;
import dev.sluice.Decision;
import dev.sluice.store.CallName;
import dev.sluice.store.Charge;
import dev.sluice.store.Plan;
import dev.sluice.store.Store;
import org.jspecify.annotations.Nullable;

/**
 * What the store remembers of a call with an id.
 *
 * @param allowed whether it was allowed or recorded, so that it is not counted again
 * @param answer the decision, while it is repeated
 */
record Seen(
    CallName name,
    boolean allowed,
    long judgedAt,
    long end,
    @Nullable Decision answer,
    long answerEnd)
    implements Register.Entry<Seen> {
  private static final long MINUTE = Store.CALL_MEMORY.toSeconds() * 1_000_000;

  /**
   * A call that was decided now. Its answer is repeated for a minute; a denial no longer than its
   * wait. The store remembers that it was counted for as long as any enforced limit of it does.
   */
  static Seen of(Plan plan, CallName name, Decision decision, long now) {
    long remembered = MINUTE;
    long repeated = MINUTE;
    if (decision.allowed()) {
      for (Charge charge : plan.charges()) {
        boolean counts = charge.cost() > 0 && charge.enforced();
        remembered = Math.max(remembered, counts ? charge.terms().horizonMicros(now) : 0);
      }
    } else {
      repeated =
          Math.min(repeated, decision.deciding().map(Balance::retryAfterMicros).orElse(MINUTE));
    }
    return new Seen(name, decision.allowed(), now, now + remembered, decision, now + repeated);
  }

  /** Whether the first decision still stands at a time. */
  boolean stands(long now) {
    return allowed || (answer != null && judgedAt <= now);
  }

  @Override
  public long until() {
    return answer == null ? end : answerEnd;
  }

  @Override
  public @Nullable Seen after() {
    return answer == null || answerEnd >= end
        ? null
        : new Seen(name, allowed, judgedAt, end, null, 0);
  }
}
