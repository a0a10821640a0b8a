package dev.sluice.history;

import dev.sluice.Balance;
import dev.sluice.Call;
import dev.sluice.Identity;
import dev.sluice.Intent;
import dev.sluice.Limit;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.Settlement;
import dev.sluice.contract.Scene;
import dev.sluice.internal.Durations;
import dev.sluice.store.Charge;
import dev.sluice.store.Plan;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/** Writes a random history, and by the model what each step must answer. */
final class Author {
  private static final int MOST_STEPS = 60;
  private static final List<List<Identity>> WORLDS =
      List.of(
          List.of(who("ann", "10.0.0.1"), who("bob", "10.0.0.1"), who("ann", "10.0.0.2")),
          List.of(who("cid", "10.0.0.3"), who("dan", "10.0.0.3")));

  private final long seed;
  private final SplittableRandom random;
  private final Rules rules;
  private final Model model = new Model();
  private final List<Step> steps = new ArrayList<>();
  private final List<@Nullable Object> answers = new ArrayList<>();
  private final Set<Integer> settled = new HashSet<>();
  private long now;

  Author(long seed) {
    this.seed = seed;
    this.random = new SplittableRandom(seed);
    RuleAuthor author = new RuleAuthor(random, "h" + Long.toHexString(seed));
    this.rules = Rules.of(author.rules());
    this.now = Scene.START.getEpochSecond() * 1_000_000 + random.nextLong(20_000_000);
  }

  private static Identity who(String member, String ip) {
    return Identity.of("member", member, "ip", ip);
  }

  History write() {
    int length = random.nextInt(15, MOST_STEPS - 5);
    while (steps.size() < length) {
      pass();
      act();
    }
    return new History(seed, rules, List.copyOf(steps), answers);
  }

  /** Lets time pass: often none, often up to an edge. */
  private void pass() {
    Limit limit = pick(pick(rules.all()).terms().limits());
    long window = Durations.micros(limit.window());
    now +=
        switch (random.nextInt(20)) {
          case 0, 1 -> random.nextLong(1, 4);
          case 2, 3, 4 -> random.nextLong(window / 2 + 1);
          case 5, 6 -> random.nextLong(window / 10 + 1);
          case 7 -> window;
          case 8 -> Math.max(0, window - 1);
          case 9 -> window - now % window;
          case 10 -> window - now % window - 1;
          case 11 -> random.nextLong(3 * window);
          default -> 0;
        };
  }

  private void act() {
    int world = random.nextInt(3) == 0 ? 1 : 0;
    int kind = random.nextInt(100);
    if (kind < 14 && settle(world)) {
      return;
    }
    if (kind < 17 && resend(world)) {
      return;
    }
    if (kind < 20) {
      lockOrLift(world);
      return;
    }
    Call call = call(world, intent(kind));
    Model.Answer answer = ask(world, call, Step.Promise.NONE);
    // The wait of a reservation depends on other reservations, so it may turn out longer.
    if (!answer.allowed() && call.intent() != Intent.RESERVE && random.nextInt(4) == 0) {
      comeBack(world, call, answer);
    }
  }

  private static Intent intent(int kind) {
    if (kind < 26) {
      return Intent.PEEK;
    }
    return kind < 31 ? Intent.RECORD : kind < 46 ? Intent.RESERVE : Intent.TAKE;
  }

  /** Waits alone until a microsecond too early, then until the promised time. */
  private void comeBack(int world, Call call, Model.Answer answer) {
    long wait = 0;
    for (Balance balance : answer.balances()) {
      wait = balance.enforced() ? Math.max(wait, balance.retryAfterMicros()) : wait;
    }
    if (wait == Balance.NEVER) {
      return;
    }
    now += wait - 1;
    ask(world, call.peeking(), Step.Promise.DENIED);
    now += 1;
    ask(world, call, Step.Promise.ALLOWED);
  }

  private Call call(int world, Intent intent) {
    List<String> names = new ArrayList<>();
    rules.all().forEach(rule -> names.add(rule.name()));
    if (names.size() > 1 && random.nextInt(3) == 0) {
      names.remove(random.nextInt(names.size()));
    }
    Limit limit = pick(pick(rules.all()).terms().limits());
    long cost = random.nextInt(3) == 0 ? random.nextLong(limit.quota() + 2) : 1;
    String id = random.nextInt(6) == 0 ? "c" + steps.size() : null;
    Call call = new Call(names, pick(WORLDS.get(world)), cost, id, intent);
    boolean byRule = names.size() > 1 && random.nextInt(3) == 0;
    return byRule ? call.costing(pick(names), random.nextLong(limit.quota() + 1)) : call;
  }

  private Model.Answer ask(int world, Call call, Step.Promise promise) {
    Call asked = call.id() == null ? call : call.withId("c" + steps.size());
    Model.Answer answer = model.take(plan(asked), steps.size(), now);
    add(new Step.Ask(now, world, asked, promise), answer);
    return answer;
  }

  private Plan plan(Call call) {
    return rules.plan(call, InstantSource.system());
  }

  private boolean settle(int world) {
    List<Integer> asks = asks(world);
    if (asks.isEmpty()) {
      return false;
    }
    int ask = pick(asks);
    if (settled.contains(ask) && now >= model.end(ask)) {
      return false; // stores do not remember settlements for ever
    }
    settled.add(ask);
    Settlement settlement = settlement(((Step.Ask) steps.get(ask)).call(), model.rulesOf(ask));
    if (!settlement.forgiven().isEmpty()) {
      now++; // nothing was taken in the microsecond in which usage is forgotten
    }
    add(new Step.Settle(now, world, ask, settlement), model.settle(ask, settlement, now));
    return true;
  }

  private Settlement settlement(Call call, List<String> names) {
    Settlement settlement =
        switch (random.nextInt(6)) {
          case 0, 1 -> Settlement.of(random.nextLong(call.cost() + 3));
          case 2 -> Settlement.CONFIRMED;
          default -> Settlement.GIVEN_BACK;
        };
    if (!names.isEmpty() && random.nextInt(8) == 0) {
      settlement = settlement.costing(pick(names), random.nextLong(call.cost() + 2));
    }
    return random.nextInt(6) == 0
        ? settlement.forgiving(random.nextBoolean() ? "member" : "ip+member")
        : settlement;
  }

  private boolean resend(int world) {
    for (int i = steps.size() - 1; i >= 0; i--) {
      if (steps.get(i) instanceof Step.Ask ask
          && ask.world() == world
          && ("c" + i).equals(ask.call().id())
          && ask.call().intent() != Intent.PEEK) {
        if (wasSettledNow(ask.call())) {
          return false;
        }
        Model.Answer answer = model.take(plan(ask.call()), steps.size(), now);
        add(new Step.Ask(now, world, ask.call(), Step.Promise.NONE), answer);
        return true;
      }
    }
    return false;
  }

  /**
   * Whether a call was taken and settled at this very moment: its next receipt would be the same.
   */
  private boolean wasSettledNow(Call call) {
    for (int i = 0; i < steps.size(); i++) {
      if (settled.contains(i)
          && steps.get(i) instanceof Step.Ask ask
          && ask.atMicros() == now
          && call.equals(ask.call())) {
        return true;
      }
    }
    return false;
  }

  /** The calls of a world that were allowed and counted, not those that were only repeated. */
  private List<Integer> asks(int world) {
    List<Integer> asks = new ArrayList<>();
    for (int i = 0; i < steps.size(); i++) {
      if (steps.get(i) instanceof Step.Ask ask
          && ask.world() == world
          && ask.call().intent() != Intent.PEEK
          && model.hasCounted(i)) {
        asks.add(i);
      }
    }
    return asks;
  }

  private void lockOrLift(int world) {
    Rule rule = pick(rules.all());
    Identity identity = pick(WORLDS.get(world));
    List<Charge> charges = plan(Call.of(rule.name(), identity)).charges();
    if (random.nextInt(3) == 0) {
      long length = random.nextLong(1, 5_000_000);
      charges.forEach(charge -> model.lock(charge, Durations.ofMicros(length), now));
      add(new Step.Lock(now, world, rule.name(), identity, Durations.ofMicros(length)), null);
    } else {
      boolean keepUsage = random.nextBoolean();
      now += keepUsage ? 0 : 1; // nothing was taken in the microsecond in which usage is forgotten
      boolean lifted = false;
      for (Charge charge : charges) {
        lifted |= model.lift(charge, now, keepUsage);
      }
      add(new Step.Lift(now, world, rule.name(), identity, keepUsage), lifted);
    }
  }

  private void add(Step step, @Nullable Object answer) {
    steps.add(step);
    answers.add(answer);
  }

  private <T> T pick(List<T> list) {
    return list.get(random.nextInt(list.size()));
  }
}
