package dev.sluice.contract;

import static dev.sluice.contract.Scene.ANN;
import static dev.sluice.contract.Scene.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Intent;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Lock;
import dev.sluice.Receipt;
import dev.sluice.Rule;
import dev.sluice.Settlement;
import dev.sluice.store.Charge;
import dev.sluice.store.Plan;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Test;

/** Reservations: confirmed, refunded or forgiven later. */
public interface ReservationContract {
  Duration LENGTH = Duration.ofMinutes(30);

  Scene scene();

  private static Rule.Builder logins(Limit limit) {
    return Rule.builder("logins").by("member").limit(limit);
  }

  private static List<Rule> bothPoints(Limit limit) {
    return List.of(
        logins(limit).lock(LENGTH).build(), logins(limit).lock(Lock.of(LENGTH).onLimit()).build());
  }

  private static Decision reserve(Scene scene, Rule rule, long cost) {
    return scene.decide(rule, Call.of(rule.name(), ANN).costing(cost).reserving());
  }

  private static Receipt reserved(Scene scene, Rule rule, long cost) {
    return Scene.receipt(reserve(scene, rule, cost));
  }

  @Test
  default void reservationIsTakenAtOnceAndRefusedWhereItDoesNotFit() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(3, Duration.ofMinutes(5))) {
      Rule rule = logins(limit).build();
      scene.reset(rule);
      assertThat(reserve(scene, rule, 2).allowed()).as("%s", limit).isTrue();
      assertThat(scene.left(rule)).as("%s", limit).isEqualTo(1);

      assertThat(reserve(scene, rule, 2).allowed()).as("%s", limit).isFalse();
      assertThat(scene.take(rule, 2).allowed()).as("%s", limit).isFalse();
      assertThat(scene.left(rule)).as("%s", limit).isEqualTo(1);
    }
  }

  @Test
  default void refusalDueToOthersThatAreOpenLocksNobody() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(3, Duration.ofMinutes(5))) {
      for (Rule rule : bothPoints(limit)) {
        scene.reset(rule);
        for (int i = 0; i < 3; i++) {
          assertThat(reserve(scene, rule, 1).locked()).as("%s", rule).isFalse();
        }

        Decision refused = reserve(scene, rule, 1);

        assertThat(refused.allowed()).as("%s", rule).isFalse();
        assertThat(refused.locked()).as("%s", rule).isFalse();
      }
    }
  }

  @Test
  default void refusalThatNothingOpenExplainsLocks() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(3, Duration.ofMinutes(5))) {
      Rule onDenial = bothPoints(limit).get(0);
      scene.reset(onDenial);
      scene.take(onDenial, 2);
      reserve(scene, onDenial, 1);
      assertThat(reserve(scene, onDenial, 1).locked()).as("%s", limit).isFalse();
      assertThat(reserve(scene, onDenial, 2).locked()).as("%s", limit).isTrue();

      Rule onLimit = bothPoints(limit).get(1);
      scene.reset(onLimit);
      scene.take(onLimit, 2);
      reserve(scene, onLimit, 1);
      assertThat(reserve(scene, onLimit, 1).locked()).as("%s", limit).isFalse();
      assertThat(reserve(scene, onLimit, 2).locked()).as("%s", limit).isTrue();
    }
  }

  @Test
  default void retryAfterIsTheEarlierOfTheLimitsOwnAndTheEndOfTheHold() {
    Scene scene = scene();
    Rule slow = logins(Limit.slidingLog(2, Duration.ofMinutes(30))).build();
    reserve(scene, slow, 2);
    scene.clock.advance(Duration.ofSeconds(20));
    assertThat(scene.shown(reserve(scene, slow, 1)))
        .isEqualTo("denied [0 of 2, retry 40s, reset 29m40s]");

    Rule quick = logins(Limit.slidingLog(2, Duration.ofSeconds(30))).build();
    scene.reset(quick);
    reserve(scene, quick, 2);
    scene.clock.advance(Duration.ofSeconds(20));
    assertThat(scene.shown(reserve(scene, quick, 1)))
        .isEqualTo("denied [0 of 2, retry 10s, reset 10s]");
  }

  @Test
  default void pastTheHoldTheCostStands() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(2, Duration.ofHours(1))) {
      Rule rule = logins(limit).lock(LENGTH).build();
      scene.reset(rule);
      reserve(scene, rule, 2);
      scene.clock.advanceMicros(59_999_999);
      assertThat(reserve(scene, rule, 1).locked()).as("%s: still open", limit).isFalse();
      scene.clock.advanceMicros(1);

      Decision refused = reserve(scene, rule, 1);

      assertThat(refused.allowed()).as("%s", limit).isFalse();
      assertThat(refused.locked()).as("%s", limit).isTrue();
    }
  }

  @Test
  default void shorterHoldEndsNoLongerOne() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(2, Duration.ofHours(1))) {
      Rule rule = logins(limit).lock(LENGTH).build();
      scene.reset(rule);
      assertThat(reserve(scene, rule, 1).allowed()).as("%s", limit).isTrue();
      assertThat(holding(scene, rule, Duration.ofSeconds(10)).allowed()).as("%s", limit).isTrue();

      scene.clock.advance(Duration.ofSeconds(59));
      assertThat(reserve(scene, rule, 1).locked()).as("%s: one is open", limit).isFalse();
      scene.clock.advance(Duration.ofSeconds(1));
      assertThat(reserve(scene, rule, 1).locked()).as("%s: none is", limit).isTrue();
    }
  }

  /** A reservation of cost 1 with a hold of its own. */
  private static Decision holding(Scene scene, Rule rule, Duration hold) {
    return await(
        scene.store.take(
            new Plan(
                List.of(new Charge(rule, ANN, rule.terms(), 1)),
                Intent.RESERVE,
                null,
                rule.onStoreFailure(),
                ANN,
                "",
                hold)));
  }

  @Test
  default void pastTheHoldItCanStillBeRefunded() {
    Scene scene = scene();
    for (Limit limit : Scene.everyWindow(2, Duration.ofHours(1))) {
      Rule rule = logins(limit).build();
      scene.reset(rule);
      Receipt receipt = reserved(scene, rule, 2);
      scene.clock.advance(Duration.ofMinutes(2));

      assertThat(await(scene.limiter(rule).refundAsync(receipt))).as("%s", limit).isTrue();
      assertThat(scene.left(rule)).as("%s", limit).isEqualTo(2);
    }
  }

  @Test
  default void confirmedForGoodItLocksAtTheRulesPoint() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(3, Duration.ofMinutes(5))) {
      Rule rule = bothPoints(limit).get(1);
      scene.reset(rule);
      Limiter limiter = scene.limiter(rule);
      List<Receipt> three = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        three.add(reserved(scene, rule, 1));
      }

      await(limiter.settleAsync(three.get(0), Settlement.CONFIRMED));
      await(limiter.settleAsync(three.get(1), Settlement.CONFIRMED));
      assertThat(scene.peek(rule, 1).locked()).as("%s: one is open", limit).isFalse();
      assertThat(await(limiter.settleAsync(three.get(2), Settlement.CONFIRMED)).done()).isTrue();
      assertThat(scene.peek(rule, 1).locked()).as("%s: none is", limit).isTrue();
      assertThat(scene.left(rule)).as("%s", limit).isZero();
    }
  }

  @Test
  default void confirmedItNoLongerExplainsARefusal() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(1, Duration.ofMinutes(5))) {
      Rule rule = bothPoints(limit).get(0);
      scene.reset(rule);
      Receipt receipt = reserved(scene, rule, 1);
      assertThat(reserve(scene, rule, 1).locked()).as("%s", limit).isFalse();

      await(scene.limiter(rule).settleAsync(receipt, Settlement.CONFIRMED));

      assertThat(scene.peek(rule, 1).locked()).as("%s: nobody was denied", limit).isFalse();
      assertThat(reserve(scene, rule, 1).locked()).as("%s", limit).isTrue();
    }
  }

  @Test
  default void refundedReservationIsAvailableAgainAndLocksNobody() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(2, Duration.ofMinutes(5))) {
      for (Rule rule : bothPoints(limit)) {
        scene.reset(rule);
        Receipt first = reserved(scene, rule, 1);
        Receipt second = reserved(scene, rule, 1);
        assertThat(await(scene.limiter(rule).refundAsync(first))).isTrue();
        assertThat(await(scene.limiter(rule).refundAsync(second))).isTrue();
        assertThat(await(scene.limiter(rule).refundAsync(second))).isFalse();

        assertThat(scene.shown(scene.peek(rule, 2)))
            .as("%s", rule)
            .startsWith("allowed [2 of 2, reset 0s");
      }
    }
  }

  @Test
  default void partlyRefundedReservationLocksIfTheRestUsesTheLimitUp() {
    Scene scene = scene();
    Rule rule = bothPoints(Limit.slidingLog(3, Duration.ofMinutes(5))).get(1);
    scene.take(rule, 1);
    Receipt receipt = reserved(scene, rule, 2);
    await(scene.limiter(rule).settleAsync(receipt, 1));
    assertThat(scene.peek(rule, 1).locked()).isFalse();
    Receipt last = reserved(scene, rule, 1);

    await(scene.limiter(rule).settleAsync(last, 1));

    assertThat(scene.peek(rule, 1).locked()).isTrue();
  }

  @Test
  default void reservationOfCostZeroHoldsNothing() {
    Scene scene = scene();
    Rule rule = bothPoints(Limit.slidingLog(1, Duration.ofMinutes(5))).get(0);

    assertThat(reserve(scene, rule, 0).allowed()).isTrue();
    scene.take(rule, 1);
    assertThat(reserve(scene, rule, 1).locked()).as("nothing is open").isTrue();
  }

  @Test
  default void forgivenAccountsHaveUsedNothingAndTheOthersKeepTheirs() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(3, Duration.ofMinutes(5))) {
      String name = "r" + limit.getClass().getSimpleName();
      Rule rule = Rule.builder(name).by("login", "login+ip", "ip").limit(limit).build();
      Identity who = Identity.of("login", "ann", "ip", "10.0.0.1");
      Limiter limiter = scene.limiter(rule);
      limiter.decide(Call.of(name, who).costing(2));
      scene.clock.advanceMicros(1);
      Receipt good = Scene.receipt(limiter.decide(Call.of(name, who).reserving()));

      Settlement settlement = Settlement.GIVEN_BACK.forgiving("login", "ip+login");
      assertThat(await(limiter.settleAsync(good, settlement)).done()).isTrue();

      assertThat(
              limiter.decide(Call.of(name, who).peeking()).balances().stream()
                  .map(balance -> balance.remaining())
                  .toList())
          .as("%s", limit)
          .containsExactly(3L, 3L, 1L);
    }
  }

  @Test
  default void reservationsThatOutliveAForgivingCloseNobodyElses() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(5, Duration.ofMinutes(5))) {
      for (Rule rule : bothPoints(limit)) {
        scene.reset(rule);
        Limiter limiter = scene.limiter(rule);
        List<Receipt> old = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
          old.add(reserved(scene, rule, 1));
        }
        scene.clock.advanceMicros(1);
        Settlement forgiven = Settlement.GIVEN_BACK.forgiving("member");
        await(limiter.settleAsync(reserved(scene, rule, 1), forgiven));
        List<Receipt> fresh = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
          fresh.add(reserved(scene, rule, 1));
        }
        for (Receipt each : old) {
          await(limiter.refundAsync(each));
        }

        assertThat(reserve(scene, rule, 1).locked()).as("%s", rule).isFalse();
        for (Receipt each : fresh) {
          await(limiter.refundAsync(each));
        }
        assertThat(reserve(scene, rule, 1).allowed()).as("%s", rule).isTrue();
      }
    }
  }

  @Test
  default void forgivingTakesBackNoLockButItsOwn() {
    Scene scene = scene();
    Rule rule = bothPoints(Limit.slidingLog(3, Duration.ofMinutes(5))).get(1);
    Limiter limiter = scene.limiter(rule);
    Receipt open = reserved(scene, rule, 1);
    scene.clock.advanceMicros(1);
    scene.take(rule, 2);
    await(limiter.lockAsync("logins", ANN, Duration.ofMinutes(7), "by hand"));
    await(limiter.settleAsync(open, Settlement.GIVEN_BACK.forgiving("member")));
    assertThat(scene.shown(scene.peek(rule, 1)))
        .isEqualTo("denied [3 of 3, retry 7m, reset 0s, locked 7m]");

    await(limiter.liftAsync("logins", ANN));
    scene.clock.advanceMicros(1);
    Receipt own = Scene.receipt(scene.take(rule, 3));
    assertThat(scene.peek(rule, 1).locked()).isTrue();
    scene.clock.advanceMicros(1);
    await(limiter.settleAsync(own, Settlement.CONFIRMED.forgiving("member")));
    assertThat(scene.shown(scene.peek(rule, 1))).isEqualTo("allowed [3 of 3, reset 0s]");
  }

  @Test
  default void whatWasTakenBeforeItWasForgivenCannotBeRefunded() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(5, Duration.ofMinutes(5))) {
      Rule rule = logins(limit).build();
      scene.reset(rule);
      Receipt old = scene.receipt(rule, 3);
      Receipt good = reserved(scene, rule, 1);
      scene.clock.advanceMicros(1);
      await(scene.limiter(rule).settleAsync(good, Settlement.GIVEN_BACK.forgiving("member")));
      scene.clock.advanceMicros(1);
      scene.take(rule, 4);

      await(scene.limiter(rule).refundAsync(old));

      assertThat(scene.left(rule)).as("%s", limit).isEqualTo(1);
    }
  }

  @Test
  default void crowdOfReservationsPassesExactlyTheLimitAndLocksNobody()
      throws InterruptedException {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(20, Duration.ofMinutes(5))) {
      for (Rule rule : bothPoints(limit)) {
        scene.reset(rule);
        Limiter limiter = scene.limiter(rule);
        ConcurrentLinkedQueue<Receipt> receipts = new ConcurrentLinkedQueue<>();
        inThreads(
            8,
            () -> {
              for (int i = 0; i < 10; i++) {
                if (limiter.decide(Call.of("logins", ANN).reserving())
                    instanceof Decision.Allowed allowed) {
                  receipts.add(allowed.receipt());
                }
              }
            });
        assertThat(receipts).as("%s", rule).hasSize(20);
        assertThat(scene.peek(rule, 1).locked()).as("%s", rule).isFalse();

        inThreads(
            8,
            () -> {
              for (Receipt each = receipts.poll(); each != null; each = receipts.poll()) {
                await(limiter.refundAsync(each));
              }
            });
        assertThat(scene.shown(scene.peek(rule, 20)))
            .as("%s", rule)
            .isEqualTo("allowed [20 of 20, reset 0s]");
      }
    }
  }

  private static void inThreads(int count, Runnable work) throws InterruptedException {
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      threads.add(new Thread(work, "reserving-" + i));
    }
    threads.forEach(Thread::start);
    for (Thread thread : threads) {
      thread.join();
    }
  }
}
