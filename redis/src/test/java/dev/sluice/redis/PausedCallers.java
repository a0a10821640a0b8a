package dev.sluice.redis;

import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.redis.testing.Crowd;
import dev.sluice.store.Store;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;

/** A program whose callers ask for a while, so that a test can pause it from outside. */
final class PausedCallers {
  private PausedCallers() {}

  /** Arguments: where Redis is, the deadline in milliseconds, for how many milliseconds to ask. */
  public static void main(String[] arguments) throws Exception {
    Rules rules =
        Rules.of(
            Rule.builder("r")
                .by("member")
                .limit(Limit.fixedWindow(1_000_000_000, Duration.ofDays(1)))
                .build());
    Duration deadline = Duration.ofMillis(Long.parseLong(arguments[1]));
    Set<String> faults = ConcurrentHashMap.newKeySet();
    Store store =
        RedisStore.builder(arguments[0])
            .deadline(deadline)
            .onFault(fault -> faults.add(String.valueOf(fault.getMessage())))
            .build();
    try (Limiter limiter = Limiter.owning(store, rules)) {
      AtomicBoolean goesOn = new AtomicBoolean(true);
      var calling =
          Crowd.calling(
              8,
              Duration.ofMillis(1),
              goesOn::get,
              () -> limiter.decide("r", Identity.of("member", "ann")));
      System.out.println("asking");
      Thread.sleep(Long.parseLong(arguments[2])); // the pause comes from outside, in real time
      goesOn.set(false);
      List<Crowd.Answer> answers = calling.join();
      System.out.println(
          answers.size()
              + " calls, "
              + Crowd.byPolicy(answers)
              + " uncounted"
              + (faults.isEmpty() ? "" : ": " + faults));
    }
  }
}
