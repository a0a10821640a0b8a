package dev.sluice.contract;

import static dev.sluice.contract.Scene.ANN;
import static dev.sluice.contract.Scene.await;
import static dev.sluice.contract.Scene.rule;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.Receipt;
import dev.sluice.Rule;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** What a token bucket gives back when several calls have taken, in whatever order they settle. */
public interface BucketRefundContract {
  Scene scene();

  @Test
  default void whatRefilledIsNotGivenToTwoCalls() {
    Scene scene = scene();
    Rule rule = rule(Limit.tokenBucket(2, 1, Duration.ofMillis(600)));
    Receipt first = scene.receipt(rule, 1);
    scene.clock.advance(Duration.ofMillis(144));
    Receipt second = scene.receipt(rule, 1);
    scene.clock.advance(Duration.ofMillis(230));
    await(scene.limiter(rule).refundAsync(first));
    scene.clock.advance(Duration.ofMillis(226));
    scene.take(rule, 1);

    await(scene.limiter(rule).refundAsync(second));

    // 600 ms would be exact. What the first got back is rounded up to a whole token.
    assertThat(scene.shown(scene.peek(rule, 1)))
        .isEqualTo("denied [0 of 2, retry 230ms, reset 830ms]");
  }

  @Test
  default void takesThatOverlapGetAllOfItBackWhileTheBucketLacksIt() {
    Scene scene = scene();
    Rule rule = rule(Limit.tokenBucket(1_000, 1, Duration.ofSeconds(1)));
    List<Receipt> receipts = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      receipts.add(scene.receipt(rule, 50));
      scene.clock.advance(Duration.ofSeconds(1));
    }

    for (Receipt receipt : receipts) {
      await(scene.limiter(rule).settleAsync(receipt, 25));
    }

    assertThat(scene.shown(scene.peek(rule, 1))).isEqualTo("allowed [760 of 1000, reset 4m]");
  }

  @Test
  default void receiptFromBeforeTheBucketWasFullAgainGivesNothingBack() {
    Scene scene = scene();
    Rule rule = rule(Limit.tokenBucket(4, 1, Duration.ofMinutes(1)));
    Receipt first = scene.receipt(rule, 1);
    Receipt second = scene.receipt(rule, 2);
    Receipt third = scene.receipt(rule, 1);
    scene.clock.advanceMicros(1);
    for (Receipt receipt : List.of(first, third)) {
      await(scene.limiter(rule).refundAsync(receipt));
    }
    scene.clock.advance(Duration.ofMinutes(2));
    assertThat(scene.shown(scene.take(rule, 4))).isEqualTo("allowed [0 of 4, reset 4m]");

    await(scene.limiter(rule).refundAsync(second));

    assertThat(scene.left(rule)).isZero();
  }

  @Test
  default void bucketLacksNoLessThanIfTheRefundHadNeverBeenTaken() {
    Scene scene = scene();
    for (int seed = 0; seed < 40; seed++) {
      new RandomCalls(scene, seed).play(40);
    }
  }

  /** Random takes and settlements on a bucket of which a token refills in 600 ms. */
  final class RandomCalls {
    private static final long TOKEN_MICROS = 600_000;

    private final Scene scene;
    private final int seed;
    private final Random random;
    private final Rule rule = rule(Limit.tokenBucket(6, 1, Duration.ofMillis(600)));
    private final List<Receipt> open = new ArrayList<>();
    private final List<long[]> takes = new ArrayList<>();
    private final StringBuilder story = new StringBuilder();

    RandomCalls(Scene scene, int seed) {
      this.scene = scene;
      this.seed = seed;
      this.random = new Random(seed);
      scene.clock.advance(Duration.ofHours(1));
      scene.reset(rule);
    }

    void play(int steps) {
      for (int i = 0; i < steps; i++) {
        scene.clock.advanceMicros(random.nextInt(3) == 0 ? 0 : random.nextInt(500_000));
        if (open.isEmpty() || random.nextInt(5) < 3) {
          take(1 + random.nextInt(3));
        } else {
          settle(random.nextInt(open.size()));
        }
        long lacks = scene.peek(rule, 1).balances().get(0).resetAfterMicros();
        assertThat(lacks).as("seed %d: %s", seed, story).isGreaterThanOrEqualTo(lacking());
      }
    }

    private void take(int cost) {
      Decision decision = scene.decide(rule, Call.of(rule.name(), ANN).costing(cost));
      if (decision instanceof Decision.Allowed allowed) {
        story.append(" take ").append(cost).append(" at ").append(scene.clock.micros());
        open.add(allowed.receipt());
        takes.add(new long[] {allowed.receipt().takenAtMicros(), cost});
      }
    }

    private void settle(int which) {
      Receipt receipt = open.remove(which);
      long cost = receipt.entries().get(0).cost();
      long actual = random.nextInt((int) cost);
      story.append(" settle ").append(receipt.takenAtMicros()).append(" with ").append(actual);
      if (await(scene.limiter(rule).settleAsync(receipt, actual))) {
        for (long[] take : takes) {
          if (take[0] == receipt.takenAtMicros() && take[1] == cost) {
            take[1] = actual;
            break;
          }
        }
      }
    }

    /**
     * What the bucket would lack now if every call had cost from the start what it was settled
     * with.
     */
    private long lacking() {
      long lacks = 0;
      long before = 0;
      for (long[] take : takes) {
        lacks = Math.max(0, lacks - (take[0] - before)) + take[1] * TOKEN_MICROS;
        before = take[0];
      }
      return Math.max(0, lacks - (scene.clock.micros() - before));
    }
  }
}
