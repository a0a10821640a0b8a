package dev.sluice.history;

import dev.sluice.Call;
import dev.sluice.Identity;
import dev.sluice.Settlement;
import java.time.Duration;

/** One thing that happens in a history, at a moment of the store's clock. */
sealed interface Step {
  long atMicros();

  /** Which of the worlds that must not touch each other it belongs to. */
  int world();

  /** The step in a few words. */
  default String shown() {
    if (this instanceof Ask ask) {
      Call call = ask.call();
      return "%s %d %s%s of %s by %s%s"
          .formatted(
              call.intent(),
              call.cost(),
              call.costs().isEmpty() ? "" : call.costs() + " ",
              call.id() == null ? "" : call.id(),
              call.rules(),
              call.identity(),
              ask.promise() == Promise.NONE ? "" : ", promised " + ask.promise());
    }
    return toString();
  }

  /** What a promise says of a call, whatever the model says. */
  enum Promise {
    NONE,
    DENIED,
    ALLOWED
  }

  record Ask(long atMicros, int world, Call call, Promise promise) implements Step {}

  /** Settles what the call of an earlier step took. */
  record Settle(long atMicros, int world, int ask, Settlement settlement) implements Step {}

  record Lock(long atMicros, int world, String rule, Identity identity, Duration length)
      implements Step {}

  record Lift(long atMicros, int world, String rule, Identity identity, boolean keepUsage)
      implements Step {}
}
