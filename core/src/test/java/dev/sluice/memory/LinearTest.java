package dev.sluice.memory;

import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.contract.MovableClock;
import dev.sluice.contract.Scene;
import java.time.Duration;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.StressOptions;
import org.junit.jupiter.api.Test;

/** Calls at once on the memory store come out as if they had come one after another. */
class LinearTest {
  private static final int QUOTA = 4;

  private static StressOptions options() {
    return new StressOptions()
        .iterations(12)
        .invocationsPerIteration(400)
        .threads(3)
        .actorsPerThread(3)
        .minimizeFailedScenario(false);
  }

  @Test
  void bucketIsLinear() {
    options().sequentialSpecification(OneSum.class).check(OneBucket.class);
  }

  @Test
  void logIsLinear() {
    options().sequentialSpecification(OneSum.class).check(OneLog.class);
  }

  @Test
  void planOfTwoAccountsIsLinear() {
    options().sequentialSpecification(TwoSums.class).check(TwoAccounts.class);
  }

  private static Limiter limiter(Limit limit, String... by) {
    Rule rule = Rule.builder("test").by(by).limit(limit).missing(Rule.Missing.SKIP).build();
    return Limiter.owning(MemoryStore.create(MovableClock.at(Scene.START)), Rules.of(rule));
  }

  private static int left(Decision decision) {
    int left = (int) decision.balances().get(0).remaining();
    return decision.allowed() ? left : -1 - left;
  }

  /** What one account must do: a sum that stays within the quota. */
  public static class OneSum {
    private int used;

    public int take(int cost) {
      if (used + cost > QUOTA) {
        return -1 - (QUOTA - used);
      }
      used += cost;
      return QUOTA - used;
    }

    public int look() {
      return used < QUOTA ? QUOTA - used : -1;
    }

    public void reset() {
      used = 0;
    }
  }

  /** One account of one limit. */
  @Param(name = "cost", gen = IntGen.class, conf = "1:3")
  public abstract static class OneAccount {
    private final Limiter limiter;

    OneAccount(Limit limit) {
      this.limiter = limiter(limit, "member");
    }

    @Operation
    public int take(@Param(name = "cost") int cost) {
      return left(limiter.decide(Call.of("test", Scene.ANN).costing(cost)));
    }

    @Operation
    public int look() {
      return left(limiter.decide(Call.of("test", Scene.ANN).peeking()));
    }

    @Operation
    public void reset() {
      Scene.await(limiter.resetAsync("test", Scene.ANN));
    }
  }

  /** Its row is one number. */
  public static class OneBucket extends OneAccount {
    public OneBucket() {
      super(Limit.tokenBucket(QUOTA, 1, Duration.ofHours(1)));
    }
  }

  /** Its row has numbers beside it. */
  public static class OneLog extends OneAccount {
    public OneLog() {
      super(Limit.slidingLog(QUOTA, Duration.ofHours(1)));
    }
  }

  /** What two accounts must do: two sums, changed together or not at all. */
  public static class TwoSums {
    private int member;
    private int ip;

    public boolean takeBoth(int cost) {
      boolean fits = member + cost <= QUOTA && ip + cost <= QUOTA;
      member += fits ? cost : 0;
      ip += fits ? cost : 0;
      return fits;
    }

    public boolean takeMember() {
      boolean fits = member < QUOTA;
      member += fits ? 1 : 0;
      return fits;
    }

    public boolean takeIp() {
      boolean fits = ip < QUOTA;
      ip += fits ? 1 : 0;
      return fits;
    }

    public int look() {
      return 10 * (QUOTA - member) + QUOTA - ip;
    }
  }

  /** Plans of two accounts, and of either alone. */
  @Param(name = "cost", gen = IntGen.class, conf = "1:3")
  public static class TwoAccounts {
    private static final Identity IP = Identity.of("ip", "10.0.0.1");
    private static final Identity BOTH = Scene.ANN.with("ip", "10.0.0.1");

    private final Limiter limiter =
        limiter(Limit.tokenBucket(QUOTA, 1, Duration.ofHours(1)), "member", "ip");

    @Operation
    public boolean takeBoth(@Param(name = "cost") int cost) {
      return limiter.decide(Call.of("test", BOTH).costing(cost)).allowed();
    }

    @Operation
    public boolean takeMember() {
      return limiter.decide("test", Scene.ANN).allowed();
    }

    @Operation
    public boolean takeIp() {
      return limiter.decide("test", IP).allowed();
    }

    @Operation
    public int look() {
      Decision decision = limiter.decide(Call.of("test", BOTH).peeking());
      return (int)
          (10 * decision.balances().get(0).remaining() + decision.balances().get(1).remaining());
    }
  }
}
