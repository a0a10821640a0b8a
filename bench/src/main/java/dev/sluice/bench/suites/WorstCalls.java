package dev.sluice.bench.suites;

import dev.sluice.Balance;
import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limiter;
import dev.sluice.Receipt;
import dev.sluice.Rule;
import dev.sluice.Settlement;
import dev.sluice.bench.load.Rounds;
import dev.sluice.bench.report.Figures;
import dev.sluice.bench.servers.RedisServer;
import dev.sluice.store.StoreException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.function.Supplier;

/** Calls each operation alone on full accounts, and takes the time of its scripts in Redis. */
final class WorstCalls {
  /** How often an operation is called on an account that it leaves as full as it was. */
  private static final int TIMES = 5;

  /** How often a call is made that may have another end, because time gives back some usage. */
  private static final int MOST_TRIES = 20;

  private final RedisServer server;
  private final Limiter limiter;
  private final Map<String, List<Double>> millis = new TreeMap<>();
  private long largest = WorstSuite.LIMIT;

  WorstCalls(RedisServer server, Limiter limiter) {
    this.server = server;
    this.limiter = limiter;
  }

  /**
   * What is called.
   *
   * @param rules the rules of each call; they count by the same identities
   */
  record Plan(String name, List<Rule> rules) {
    static Plan of(Rule rule) {
      return new Plan(rule.name(), List.of(rule));
    }

    Call call(Identity who) {
      return Call.of(rules.stream().map(Rule::name).toList(), who);
    }

    boolean hasLock() {
      return rules.get(0).terms().lock() != null;
    }
  }

  /** Most operations, on an account with little room left. The last one empties it. */
  void onFull(Plan plan, Identity who) {
    Call call = plan.call(who);
    List<Receipt> receipts = new ArrayList<>();
    for (int i = 0; i < TIMES; i++) {
      Call taking = call.costing(1 + i % 3);
      receipts.add(receipt(decide(plan, "take", () -> taking, Decision::allowed)));
      decide(plan, "peek", call::peeking, decision -> true);
      decide(plan, "peekLarge", () -> call.costing(large()).peeking(), decision -> true);
      decide(plan, "record", () -> call.costing(2).recording(), decision -> true);
    }
    for (int i = 0; i < TIMES; i++) {
      Receipt receipt = receipts.get(i);
      if (i % 2 == 0) {
        timed(plan, "refund", () -> limiter.refund(receipt));
      } else {
        timed(plan, "settle", () -> limiter.settle(receipt, 10));
      }
    }
    for (int i = 0; i < TIMES; i++) {
      decide(plan, "denied", () -> call.costing(tooMuch(plan, call)), WorstCalls::isDenied);
      unlock(plan, who);
      decide(plan, "large", () -> call.costing(large()), WorstCalls::isDenied);
    }
    unlock(plan, who);
    // Once: it leaves the account with more than its limit, so the next would not be the worst.
    decide(plan, "recordLarge", () -> call.costing(large()).recording(), decision -> true);
    timed(plan, "reset", () -> plan.rules.forEach(rule -> limiter.reset(rule.name(), who)));
  }

  /** Charges far more than was taken, then forgives all usage. */
  void forgive(Plan plan, Identity who) {
    Receipt first = receipt(limiter.decide(plan.call(who)));
    Receipt second = receipt(limiter.decide(plan.call(who)));
    timed(plan, "settleLarge", () -> limiter.settle(first, large()));
    Settlement forgiving =
        Settlement.CONFIRMED.forgiving(plan.rules.get(0).by().toArray(new String[0]));
    timed(plan, "forgive", () -> limiter.settle(second, forgiving));
  }

  /** What a call finds that comes when much has left the account since the call before. */
  void afterIdle(Plan plan, Identity who) {
    Call call = plan.call(who);
    decide(plan, "peek", call::peeking, decision -> true);
    decide(plan, "peekLarge", () -> call.costing(large()).peeking(), decision -> true);
    decide(plan, "take", () -> call, Decision::allowed);
  }

  private static Receipt receipt(Decision decision) {
    if (decision instanceof Decision.Allowed allowed) {
      return allowed.receipt();
    }
    throw new IllegalStateException(decision + " (expected: allowed)");
  }

  private static boolean isDenied(Decision decision) {
    return !decision.allowed();
  }

  /** A cost that was not asked before, and which no full account has room for. */
  private long large() {
    return largest--;
  }

  /** One more than there is room for. */
  private long tooMuch(Plan plan, Call call) {
    unlock(plan, call.identity());
    Decision now = limiter.decide(call.peeking());
    return 1 + now.balances().stream().mapToLong(Balance::remaining).min().orElseThrow();
  }

  private void unlock(Plan plan, Identity who) {
    if (plan.hasLock()) {
      plan.rules.forEach(rule -> limiter.lift(rule.name(), who, true));
    }
  }

  /** The first decision that ends as expected; those before do not count. */
  private Decision decide(
      Plan plan, String operation, Supplier<Call> call, Predicate<Decision> expected) {
    for (int i = 0; i < MOST_TRIES; i++) {
      Call next = call.get();
      long before = server.scriptMicros();
      Decision decision = limiter.decide(next);
      long after = server.scriptMicros();
      if (decision.countedBy() != Decision.CountedBy.STORE) {
        throw new IllegalStateException(plan.name + ": not counted by Redis: " + decision);
      }
      if (expected.test(decision)) {
        note(plan, operation, after - before);
        return decision;
      }
    }
    throw new IllegalStateException(
        "%s, %s: no decision was as expected".formatted(plan.name, operation));
  }

  private void timed(Plan plan, String operation, Runnable call) {
    long before = server.scriptMicros();
    try {
      call.run();
    } catch (StoreException e) {
      // Redis needed longer than the store waits. It answers the next line when it has done it.
    }
    note(plan, operation, server.scriptMicros() - before);
  }

  private void note(Plan plan, String operation, long micros) {
    millis.computeIfAbsent(plan.name + "." + operation, key -> new ArrayList<>()).add(micros / 1e3);
  }

  /** The median of each operation, and the largest of these medians. */
  void tell(Figures figures) {
    double ofOneRule = 0;
    double ofWidest = 0;
    for (Map.Entry<String, List<Double>> entry : millis.entrySet()) {
      double median =
          Rounds.median(entry.getValue().stream().mapToDouble(Double::doubleValue).toArray());
      figures.put("worst." + entry.getKey() + ".millis", median);
      if (entry.getKey().startsWith(WorstSuite.WIDEST)) {
        ofWidest = Math.max(ofWidest, median);
      } else {
        ofOneRule = Math.max(ofOneRule, median);
      }
    }
    figures.put("worst.oneRule.millis", ofOneRule);
    figures.put("worst.widest.millis", ofWidest);
  }
}
