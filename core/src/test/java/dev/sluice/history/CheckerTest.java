package dev.sluice.history;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Account;
import dev.sluice.Balance;
import dev.sluice.Decision;
import dev.sluice.Intent;
import dev.sluice.Limit;
import dev.sluice.Lock;
import dev.sluice.Receipt;
import dev.sluice.Settled;
import dev.sluice.Settlement;
import dev.sluice.Terms;
import dev.sluice.contract.MovableClock;
import dev.sluice.memory.MemoryStore;
import dev.sluice.store.Plan;
import dev.sluice.store.Store;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.stream.LongStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests the checker: a store with a known bug must not pass a thousand histories. */
class CheckerTest {
  private static final int HISTORIES = 1_000;

  /** Bugs, each a wrong answer or a wrong use of a right store. */
  enum Bug {
    CONSUMES_ON_DENIAL(
        store ->
            new Broken(store) {
              @Override
              public CompletionStage<Decision> take(Plan plan) {
                CompletionStage<Decision> answer = super.take(plan);
                if (plan.intent() == Intent.TAKE && !await(answer).allowed()) {
                  super.take(with(plan, Intent.RECORD));
                }
                return answer;
              }
            }),
    ADMITS_ONE_TOO_MANY(
        store ->
            new Broken(store) {
              @Override
              public CompletionStage<Decision> take(Plan plan) {
                return super.take(terms(plan, CheckerTest::oneMore));
              }
            }),
    RETRY_AFTER_IS_LATE(
        store ->
            new Broken(store) {
              @Override
              Balance balance(Balance b) {
                return b.fits() || b.retryAfterMicros() == Balance.NEVER ? b : waiting(b, 1);
              }
            }),
    RETRY_AFTER_IS_EARLY(
        store ->
            new Broken(store) {
              @Override
              Balance balance(Balance b) {
                return b.fits() || b.retryAfterMicros() == Balance.NEVER ? b : waiting(b, -1);
              }
            }),
    NEVER_IS_A_LONG_WAIT(
        store ->
            new Broken(store) {
              @Override
              Balance balance(Balance b) {
                return b.retryAfterMicros() == Balance.NEVER ? waiting(b, -1) : b;
              }
            }),
    GIVES_BACK_TWICE(
        store ->
            new Broken(store) {
              @Override
              public CompletionStage<Settled> settle(Receipt r, Settlement settlement) {
                super.settle(new Receipt(r.id() + "x", r.takenAtMicros(), r.entries()), settlement);
                return super.settle(r, settlement);
              }
            }),
    GIVES_BACK_WHAT_CAME_BACK(
        store ->
            new Broken(store) {
              @Override
              public CompletionStage<Settled> settle(Receipt r, Settlement settlement) {
                return super.settle(
                    r.with(r.entries().stream().map(Broken::farAhead).toList()), settlement);
              }
            }),
    GIVES_NOTHING_BACK(
        store ->
            new Broken(store) {
              @Override
              public CompletionStage<Settled> settle(Receipt r, Settlement settlement) {
                return super.settle(r, new Settlement(null, Map.of(), settlement.forgiven()));
              }
            }),
    FORGIVES_NOBODY(
        store ->
            new Broken(store) {
              @Override
              public CompletionStage<Settled> settle(Receipt r, Settlement settlement) {
                return super.settle(r, settlement.forgiving());
              }
            }),
    RESERVES_FOR_GOOD(
        store ->
            new Broken(store) {
              @Override
              public CompletionStage<Decision> take(Plan plan) {
                return super.take(plan.intent() == Intent.RESERVE ? with(plan, Intent.TAKE) : plan);
              }
            }),
    LIFTING_KEEPS_USAGE(
        store ->
            new Broken(store) {
              @Override
              public CompletionStage<Boolean> lift(Account account, boolean keepUsage) {
                return super.lift(account, true);
              }
            }),
    LOCKS_WITH_THE_NEXT_CALL_ONLY(
        store ->
            new Broken(store) {
              @Override
              public CompletionStage<Decision> take(Plan plan) {
                return super.take(terms(plan, CheckerTest::lockingOnDenial));
              }
            }),
    PEEK_WRITES(
        store ->
            new Broken(store) {
              @Override
              public CompletionStage<Decision> take(Plan plan) {
                return super.take(plan.intent() == Intent.PEEK ? with(plan, Intent.TAKE) : plan);
              }
            }),
    RECORD_ONLY_IF_IT_FITS(
        store ->
            new Broken(store) {
              @Override
              public CompletionStage<Decision> take(Plan plan) {
                return super.take(plan.intent() == Intent.RECORD ? with(plan, Intent.TAKE) : plan);
              }
            }),
    COST_ZERO_ALWAYS_PASSES(
        store ->
            new Broken(store) {
              @Override
              public CompletionStage<Decision> take(Plan plan) {
                boolean free = plan.charges().stream().allMatch(charge -> charge.cost() == 0);
                return super.take(free ? with(plan, Intent.RECORD) : plan);
              }
            }),
    RESEND_IS_COUNTED_AGAIN(
        store ->
            new Broken(store) {
              @Override
              public CompletionStage<Decision> take(Plan plan) {
                return super.take(new Plan(plan.charges(), plan.intent(), null, plan.policy()));
              }
            }),
    DENIALS_NEVER_COUNT(
        store ->
            new Broken(store) {
              @Override
              public CompletionStage<Decision> take(Plan plan) {
                return super.take(terms(plan, t -> new Terms(t.limits(), t.lock(), false)));
              }
            }),
    NO_LOCKS(
        store ->
            new Broken(store) {
              @Override
              public CompletionStage<Decision> take(Plan plan) {
                return super.take(terms(plan, t -> new Terms(t.limits(), null, t.countDenied())));
              }
            }),
    TAKES_THE_FIRST_ACCOUNT_OF_A_DENIED_PLAN(
        store ->
            new Broken(store) {
              @Override
              public CompletionStage<Decision> take(Plan plan) {
                CompletionStage<Decision> answer = super.take(plan);
                if (plan.charges().size() > 1 && !await(answer).allowed()) {
                  super.take(
                      new Plan(plan.charges().subList(0, 1), plan.intent(), null, plan.policy()));
                }
                return answer;
              }
            });

    @SuppressWarnings("ImmutableEnumChecker") // it only ever makes new stores
    private final UnaryOperator<Store> breaking;

    Bug(UnaryOperator<Store> breaking) {
      this.breaking = breaking;
    }
  }

  @ParameterizedTest
  @EnumSource
  void storeWithABugIsFound(Bug bug) {
    Function<MovableClock, Store> open = clock -> bug.breaking.apply(MemoryStore.create(clock, 99));
    Histories histories = new Histories(open);

    assertThatThrownBy(() -> LongStream.range(0, HISTORIES).forEach(histories::playOne))
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("seed");
  }

  private static Terms lockingOnDenial(Terms terms) {
    Lock lock = terms.lock();
    return lock == null ? terms : terms.locking(new Lock(lock.durations(), lock.memory()));
  }

  private static Terms oneMore(Terms terms) {
    return new Terms(
        terms.limits().stream().map(CheckerTest::oneMore).toList(),
        terms.lock(),
        terms.countDenied());
  }

  private static Limit oneMore(Limit limit) {
    if (limit instanceof Limit.FixedWindow fixed) {
      return Limit.fixedWindow(fixed.limit() + 1, fixed.cycle());
    }
    if (limit instanceof Limit.SlidingLog log) {
      return Limit.slidingLog(log.limit() + 1, log.window());
    }
    if (limit instanceof Limit.SlidingWindow sliding) {
      return Limit.slidingWindow(sliding.limit() + 1, sliding.window(), sliding.precision());
    }
    Limit.TokenBucket bucket = (Limit.TokenBucket) limit;
    return Limit.tokenBucket(bucket.capacity() + 1, bucket.refill(), bucket.period());
  }
}
