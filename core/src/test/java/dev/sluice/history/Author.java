package dev.sluice.history;

import dev.sluice.Balance;
import dev.sluice.Call;
import dev.sluice.Charge;
import dev.sluice.Durations;
import dev.sluice.Identity;
import dev.sluice.Intent;
import dev.sluice.Limit;
import dev.sluice.Plan;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.contract.Scene;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
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
  private final Map<Integer, Long> settledAt = new HashMap<>();
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
    if (kind < 12 && settle(world)) {
      return;
    }
    if (kind < 15 && resend(world)) {
      return;
    }
    if (kind < 17) {
      lockOrLift(world);
      return;
    }
    Intent intent = kind < 23 ? Intent.PEEK : kind < 28 ? Intent.RECORD : Intent.TAKE;
    Call call = call(world, intent);
    Model.Answer answer = ask(world, call, Step.Promise.NONE);
    if (!answer.allowed() && random.nextInt(4) == 0) {
      comeBack(world, call, answer);
    }
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
    return new Call(names, pick(WORLDS.get(world)), cost, id, intent);
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
    long cost = ((Step.Ask) steps.get(ask)).call().cost();
    long actual = random.nextInt(3) == 0 ? random.nextLong(cost + 3) : 0;
    if (now - settledAt.getOrDefault(ask, now) >= 60_000_000) {
      return false;
    }
    settledAt.putIfAbsent(ask, now);
    boolean done = model.settle(ask, actual, now);
    add(new Step.Settle(now, world, ask, actual), done);
    return true;
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
      if (settledAt.containsKey(i)
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
    if (random.nextBoolean()) {
      long length = random.nextLong(1, 5_000_000);
      charges.forEach(charge -> model.lock(charge, Durations.ofMicros(length), now));
      add(new Step.Lock(now, world, rule.name(), identity, Durations.ofMicros(length)), null);
    } else {
      boolean lifted = false;
      for (Charge charge : charges) {
        lifted |= model.lift(charge, now);
      }
      add(new Step.Lift(now, world, rule.name(), identity), lifted);
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
