package dev.sluice.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Receipt;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.contract.MovableClock;
import dev.sluice.contract.Scene;
import dev.sluice.contract.StoreContract;
import dev.sluice.store.Store;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
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
    Rule rule = Scene.rule(Limit.tokenBucket(5, 1, Duration.ofHours(1)));
    for (int i = 0; i < 10 * MOST; i++) {
      bounded.take(rule, member("m", i), 1);
    }

    assertThat(small.size()).isLessThanOrEqualTo(MOST);
  }

  @Test
  void floodOfOneTimeIdentitiesEvictsNoActiveAccount() {
    Rule rule = Scene.rule(Limit.fixedWindow(1_000, Duration.ofDays(1)));
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
        Rule.builder("test")
            .by("member")
            .limit(Limit.slidingLog(1, Duration.ofSeconds(1)))
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
          .hasValue(Scene.START.plus(Duration.ofHours(1)));
    }
    clock.advanceMicros(1);
    assertThat(bounded.take(rule, member("locked", 0), 1).allowed()).isTrue();
    assertThat(Scene.await(small.locks(null, 1_000, null)).locks()).isEmpty();
  }

  @Test
  void spentAccountsAreDroppedWhileNewOnesCome() {
    Rule rule = Scene.rule(Limit.tokenBucket(5, 5, Duration.ofSeconds(1)));
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
  void noReceiptIsRefundedTwiceUnderAFloodOfSettlements() {
    Rule rule = Scene.rule(Limit.tokenBucket(1_000_000, 1, Duration.ofHours(1)));
    Limiter limiter = bounded.limiter(rule);
    List<Receipt> receipts = new ArrayList<>();
    for (int i = 0; i < 5 * MOST; i++) {
      receipts.add(bounded.receipt(rule, 1));
    }
    for (Receipt receipt : receipts) {
      assertThat(Scene.await(limiter.refundAsync(receipt))).isTrue();
    }

    long twice = 0;
    for (Receipt receipt : receipts) {
      twice += Scene.await(limiter.refundAsync(receipt)) ? 1 : 0;
    }
    assertThat(twice).isZero();
  }

  @Test
  void settlementIsRefusedWhileEverySettledReceiptIsNeeded() {
    MemoryStore store = MemoryStore.create(clock, MOST, 3);
    Scene scene = new Scene(clock, store);
    Rule rule = Scene.rule(Limit.fixedWindow(9, Duration.ofMinutes(10)));
    Limiter limiter = scene.limiter(rule);
    for (int i = 0; i < 3; i++) {
      Scene.await(limiter.refundAsync(scene.receipt(rule, 1)));
    }
    Receipt one = scene.receipt(rule, 1);

    assertThatThrownBy(() -> Scene.await(limiter.refundAsync(one)))
        .hasCauseInstanceOf(IllegalStateException.class)
        .hasRootCauseMessage(
            "settled receipts: 3 are remembered, and each is still needed"
                + " (expected: fewer than 3 at a time)");
    assertThat(scene.left(rule)).as("nothing given back").isEqualTo(8);
    clock.advance(Duration.ofMinutes(10));
    assertThat(Scene.await(limiter.refundAsync(scene.receipt(rule, 1)))).isTrue();
  }

  @Test
  void callWithAnIdIsRefusedWhileEveryRememberedIdIsNeeded() {
    MemoryStore store = MemoryStore.create(clock, MOST, 3);
    Scene scene = new Scene(clock, store);
    Rule rule = Scene.rule(Limit.fixedWindow(9, Duration.ofMinutes(10)));
    Call call = Call.of("test", Scene.ANN);
    for (int i = 0; i < 3; i++) {
      scene.decide(rule, call.withId("id" + i));
    }
    clock.advance(Duration.ofMinutes(5));

    assertThatThrownBy(() -> scene.decide(rule, call.withId("more")))
        .isInstanceOf(IllegalStateException.class)
        .hasMessage(
            "calls with an id: 3 are remembered, and each is still needed"
                + " (expected: fewer than 3 at a time)");
    assertThat(scene.left(rule)).as("nothing counted").isEqualTo(6);
    assertThat(scene.decide(rule, call.withId("id0")).allowed()).isTrue();
    assertThat(scene.take(rule, 1).allowed()).as("without an id").isTrue();
    clock.advance(Duration.ofMinutes(5));
    assertThat(scene.decide(rule, call.withId("more")).allowed()).isTrue();
  }

  @Test
  void idsThatAreOverMakeRoomForOthers() {
    MemoryStore store = MemoryStore.create(clock, MOST, 100);
    Scene scene = new Scene(clock, store);
    Rule rule = Scene.rule(Limit.fixedWindow(1_000_000, Duration.ofMinutes(10)));
    Call call = Call.of("test", Scene.ANN);
    for (int round = 0; round < 20; round++) {
      for (int i = 0; i < 100; i++) {
        scene.decide(rule, call.withId(round + "-" + i));
      }
      clock.advance(Duration.ofMinutes(10));
    }

    assertThatCode(() -> scene.decide(rule, call.withId("last"))).doesNotThrowAnyException();
  }

  @Test
  void callThatCountsNothingKeepsNoAccount() {
    Rule rule = Scene.rule(Limit.tokenBucket(5, 5, Duration.ofSeconds(1)));
    for (int i = 0; i < 100; i++) {
      bounded.peek(rule, 1);
      bounded.take(rule, member("m", i), 0);
      bounded.take(rule, member("m", i), 6);
    }

    assertThat(small.size()).isZero();
  }

  @Test
  void plansThatOverlapAndAFloodDoNotBlockEachOther() throws InterruptedException {
    MemoryStore tiny = MemoryStore.create(clock, 20);
    Rule rule =
        Rule.builder("test")
            .by("member", "ip", "member+ip")
            .limit(Limit.slidingLog(1_000_000, Duration.ofHours(1)))
            .build();
    Limiter limiter = Limiter.owning(tiny, Rules.of(rule));
    AtomicInteger done = new AtomicInteger();
    List<Thread> threads = new ArrayList<>();
    for (int t = 0; t < 6; t++) {
      SplittableRandom random = new SplittableRandom(t);
      threads.add(
          new Thread(
              () -> {
                for (int i = 0; i < 3_000; i++) {
                  String member = "m" + random.nextInt(15);
                  Identity who = Identity.of("member", member, "ip", "10.0.0." + random.nextInt(5));
                  Decision taken = limiter.decide(Call.of("test", who));
                  if (i % 5 == 0) {
                    Scene.await(limiter.refundAsync(Scene.receipt(taken)));
                  }
                  if (i % 50 == 0) {
                    Scene.await(limiter.resetAsync("test", who));
                  }
                }
                done.incrementAndGet();
              },
              "overlapping-" + t));
    }
    threads.forEach(Thread::start);
    for (Thread thread : threads) {
      thread.join(30_000);
    }

    assertThat(done).hasValue(6);
  }

  @Test
  void storeOfNoAccountsIsRefused() {
    assertThatThrownBy(() -> MemoryStore.create(clock, 0))
        .hasMessage("mostAccounts: 0 (expected: at least 1)");
  }
}
