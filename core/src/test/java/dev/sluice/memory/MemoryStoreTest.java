package dev.sluice.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Rule;
import dev.sluice.Store;
import dev.sluice.contract.MovableClock;
import dev.sluice.contract.Scene;
import dev.sluice.contract.StoreContract;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** The memory store keeps the contract, within its bounds. */
class MemoryStoreTest extends StoreContract {
  private static final int MOST = 1_000;
  private static final int FLOOD = 50_000;

  private final MovableClock clock = MovableClock.at(Scene.START);
  private final MemoryStore small = MemoryStore.create(clock, MOST);
  private final Scene bounded = new Scene(clock, small);

  @Override
  protected Store open(MovableClock clock) {
    return MemoryStore.create(clock);
  }

  private static Identity member(String prefix, int i) {
    return Identity.of("member", prefix + i);
  }

  @Test
  void storeHoldsNoMoreAccountsThanItMay() {
    Rule rule = Scene.rule(Limit.bucket(5, 1, Duration.ofHours(1)));
    for (int i = 0; i < 10 * MOST; i++) {
      bounded.take(rule, member("m", i), 1);
    }

    assertThat(small.size()).isLessThanOrEqualTo(MOST);
  }

  @Test
  void floodOfOneTimeIdentitiesEvictsNoActiveAccount() {
    Rule rule = Scene.rule(Limit.fixed(1_000, Duration.ofDays(1)));
    int active = 50;
    for (int round = 0; round < 20; round++) {
      for (int i = 0; i < active; i++) {
        bounded.take(rule, member("active", i), 1);
      }
    }
    for (int i = 0; i < FLOOD; i++) {
      bounded.take(rule, member("flood", i), 1);
      if (i % 500 == 0) {
        for (int j = 0; j < active; j++) {
          bounded.take(rule, member("active", j), 1);
        }
      }
    }

    for (int i = 0; i < active; i++) {
      assertThat(bounded.take(rule, member("active", i), 0).balances().get(0).remaining())
          .as("active account %d", i)
          .isEqualTo(1_000 - 20 - FLOOD / 500);
    }
  }

  @Test
  void floodEvictsNoLockedAccountBeforeItsEnd() {
    Rule rule =
        Rule.named("test")
            .by("member")
            .limit(Limit.log(1, Duration.ofSeconds(1)))
            .lock(Duration.ofHours(1))
            .build();
    int locked = 200;
    for (int i = 0; i < locked; i++) {
      bounded.take(rule, member("locked", i), 1);
      bounded.take(rule, member("locked", i), 1);
    }
    for (int i = 0; i < FLOOD; i++) {
      bounded.take(rule, member("flood", i), 1);
    }
    clock.advance(Duration.ofHours(1));
    clock.advanceMicros(-1);

    for (int i = 0; i < locked; i++) {
      assertThat(bounded.take(rule, member("locked", i), 1).restrictedUntil())
          .as("locked account %d", i)
          .hasValue(Scene.START.plus(Duration.ofHours(1)).toEpochMilli());
    }
    clock.advanceMicros(1);
    assertThat(bounded.take(rule, member("locked", 0), 1).allowed()).isTrue();
    assertThat(Scene.await(small.locks(null))).isEmpty();
  }

  @Test
  void spentAccountsAreDroppedWhileNewOnesCome() {
    Rule rule = Scene.rule(Limit.bucket(5, 5, Duration.ofSeconds(1)));
    for (int i = 0; i < 900; i++) {
      bounded.take(rule, member("old", i), 1);
    }
    clock.advance(Duration.ofSeconds(62));
    for (int i = 0; i < 600; i++) {
      bounded.take(rule, member("new", i), 1);
    }

    assertThat(small.size()).isBetween(600L, 620L);
  }

  @Test
  void lookAndCostZeroKeepNoAccount() {
    Rule rule = Scene.rule(Limit.bucket(5, 5, Duration.ofSeconds(1)));
    for (int i = 0; i < 100; i++) {
      bounded.peek(rule, 1);
    }

    assertThat(small.size()).isZero();
  }

  @Test
  void storeOfNoAccountsIsRefused() {
    assertThatThrownBy(() -> MemoryStore.create(clock, 0))
        .hasMessage("mostAccounts: 0 (expected: at least 1)");
  }
}
