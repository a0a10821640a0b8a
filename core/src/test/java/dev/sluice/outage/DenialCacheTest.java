package dev.sluice.outage;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Balance;
import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Rule;
import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.contract.MovableClock;
import dev.sluice.memory.MemoryStore;
import dev.sluice.store.Counted;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a cached denial says. Refunds are in DenialCacheIT. */
class DenialCacheTest {
  private static final Identity ANN = Identity.of("login", "ann");
  private static final Rules RULES =
      Rules.of(
          Rule.builder("one").by("login").limit(Limit.slidingLog(2, Duration.ofHours(1))).build(),
          Rule.builder("two")
              .by("login")
              .limit(Limit.slidingLog(2, Duration.ofHours(2)))
              .limit(Limit.tokenBucket(2, 1, Duration.ofHours(5)))
              .build(),
          Rule.builder("locking")
              .by("login")
              .limit(Limit.fixedWindow(2, Duration.ofHours(6)))
              .lock(Duration.ofHours(7))
              .build());

  private final MovableClock clock = MovableClock.at(Instant.parse("2026-01-01T12:00:00Z"));
  private final MemoryStore memory = MemoryStore.create(clock);
  private final DenialCache cache =
      new DenialCache(
          memory,
          Duration.ofDays(1),
          () -> true,
          () -> clock.micros() * 1_000,
          clock::micros,
          () -> {});
  private final Limiter limiter =
      Limiter.builder(cache, RuleSource.fixed(RULES)).clock(clock).build();
  private final Limiter behind =
      Limiter.builder(memory, RuleSource.fixed(RULES)).clock(clock).build();

  @Test
  void cachedDenialIsThatOfTheStoreAtEachMoment() {
    List<Call> calls =
        List.of(
            Call.of("one", ANN),
            Call.of("two", ANN),
            Call.of("locking", ANN),
            Call.of(List.of("one", "two", "locking"), ANN));
    for (Call call : calls.subList(0, 3)) {
      for (int i = 0; i < 3; i++) {
        limiter.decide(call);
      }
    }
    for (int minute = 0; minute < 50; minute++) {
      clock.advance(Duration.ofMinutes(1));
      for (Call call : calls) {
        Decision cached = limiter.decide(call);

        assertThat(cached.countedBy()).isEqualTo(Decision.CountedBy.CACHE);
        assertThat(cached.balances()).isEqualTo(behind.decide(call).balances());
        Counted counted = ((Decision.Denied) cached).counted();
        assertThat(counted.locked()).isEqualTo(cached.restrictedUntil().isPresent());
        assertThat(counted.decidingLimit())
            .isEqualTo(cached.deciding().map(Balance::limit).orElseThrow());
      }
    }
  }

  @Test
  void balancesOfACachedDenialAreThoseOfTheMomentOfTheCall() {
    for (int i = 0; i < 3; i++) {
      limiter.decide("one", ANN);
    }
    clock.advance(Duration.ofMinutes(10));
    Decision cached = limiter.decide("one", ANN);
    clock.advance(Duration.ofMinutes(10));

    assertThat(cached.retryAfter()).contains(Duration.ofMinutes(50));
    assertThat(limiter.decide("one", ANN).retryAfter()).contains(Duration.ofMinutes(40));
  }
}
