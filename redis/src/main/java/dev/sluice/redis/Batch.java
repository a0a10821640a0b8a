package dev.sluice.redis;

import dev.sluice.Charge;
import dev.sluice.Intent;
import dev.sluice.Plan;
import dev.sluice.Terms;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Operations that share one round trip: at most one call of each script. */
final class Batch {
  /** Lua hands no more than some 8,000 keys to one command. */
  private static final int MOST_PLAIN_KEYS = 4_000;

  private final Function<Terms, EncodedTerms> encoding;
  private final boolean namesLogs;
  private final List<Operation.Judge> quickPlans = new ArrayList<>();
  private final List<Group> groups = new ArrayList<>();
  private final List<PlainGroup> plainGroups = new ArrayList<>();
  private final List<Operation<?>> others = new ArrayList<>();
  private int plainKeys;
  private int weight;

  /** Plans of one cost under one terms, for the quick script. */
  private static final class Group {
    private final EncodedTerms.Quick quick;
    private final long cost;
    private final Map<String, List<Operation.Judge>> plans = new LinkedHashMap<>();
    private final List<Map.Entry<String, List<Operation.Judge>>> accounts = new ArrayList<>();

    Group(EncodedTerms.Quick quick, long cost) {
      this.quick = quick;
      this.cost = cost;
    }

    void add(Operation.Judge plan) {
      String key = Keyspace.key(plan.plan.charges().get(0).account());
      plans.computeIfAbsent(key, fresh -> new ArrayList<>(1)).add(plan);
    }

    /** Puts the accounts in order: those with one plan, then those with several. */
    void order() {
      List<Map.Entry<String, List<Operation.Judge>>> crowded = new ArrayList<>(0);
      for (Map.Entry<String, List<Operation.Judge>> account : plans.entrySet()) {
        (account.getValue().size() == 1 ? accounts : crowded).add(account);
      }
      accounts.addAll(crowded);
    }

    /** What one plan takes. */
    long askedMicros() {
      return cost * quick.tokenMicros();
    }

    private String asked() {
      return cost == 1 ? quick.token() : Long.toString(askedMicros());
    }

    /** The only plan, as the script for one reads it. */
    ScriptCall callOne(long testNow, List<Operation.Judge> plan) {
      String more = asked().concat("0000");
      String[] keys = {accounts.get(0).getKey()};
      String[] words =
          testNow == 0
              ? new String[] {quick.tag(), quick.full(), more}
              : new String[] {quick.tag(), quick.full(), more, Long.toString(testNow)};
      return new ScriptCall(Script.ONE, keys, words, plan);
    }

    /** Tells the script of so many accounts that have so many plans each. */
    void describe(int accounts, int plansEach, List<String> words) {
      if (accounts > 0) {
        String asked = asked();
        words.add(quick.tag());
        words.add(quick.full());
        words.add(asked);
        words.add(plansEach == 1 ? asked : Long.toString(askedMicros() * plansEach));
        words.add(Integer.toString(accounts));
      }
    }
  }

  /** Plans of the same charges but for the accounts, for the plain script. */
  private record PlainGroup(List<EncodedTerms.Plain> terms, List<Operation.Judge> plans) {
    @SuppressWarnings("ReferenceEquality") // encoded once for each terms
    boolean fits(List<EncodedTerms.Plain> others, Operation.Judge plan) {
      List<Charge> charges = plans.get(0).plan.charges();
      if (charges.size() != others.size()) {
        return false;
      }
      for (int i = 0; i < others.size(); i++) {
        if (terms.get(i) != others.get(i)
            || charges.get(i).cost() != plan.plan.charges().get(i).cost()) {
          return false;
        }
      }
      return true;
    }
  }

  /** A script call: what is sent, and what becomes of its reply. */
  record ScriptCall(
      Script script, String[] keys, String[] arguments, List<? extends Operation<?>> operations) {}

  /**
   * An empty batch.
   *
   * @param namesLogs whether the keys of sliding logs are named too, as a Cluster must know of
   *     them: while a slot moves, it can then tell that an account is here and its log there
   */
  Batch(Function<Terms, EncodedTerms> encoding, boolean namesLogs) {
    this.encoding = encoding;
    this.namesLogs = namesLogs;
  }

  /** Fails every operation. */
  void fail(Throwable error) {
    quickPlans.forEach(plan -> plan.answer.completeExceptionally(error));
    plainGroups.forEach(
        group -> group.plans.forEach(plan -> plan.answer.completeExceptionally(error)));
    others.forEach(operation -> operation.answer.completeExceptionally(error));
  }

  /**
   * Adds an operation.
   *
   * @param quickly whether one of the quicker scripts may judge it
   */
  void add(Operation<?> operation, boolean quickly) {
    Operation.Judge taking =
        quickly && operation instanceof Operation.Judge judge && isTake(judge) ? judge : null;
    if (taking != null && addQuick(taking)) {
      weight += 1;
      return;
    }
    if (taking != null && addPlain(taking)) {
      weight += 2;
      return;
    }
    weight += weightOf(operation);
    others.add(operation);
  }

  /** The weight of what the whole script does: an account is 2, and so are 50 entries of a log. */
  private static int weightOf(Operation<?> operation) {
    int accounts = operation.accounts().size();
    long entries = 0;
    if (operation instanceof Operation.Judge judge) {
      for (Charge charge : judge.plan.charges()) {
        entries += Operation.hasLog(charge.terms()) ? charge.cost() : 0;
      }
    }
    return (int) (2L * Math.max(1, accounts) + entries / 25);
  }

  /** How long it keeps Redis busy, a plan for the quick script being 1. */
  int weight() {
    return weight;
  }

  /** Whether a plan takes a cost from enforced accounts in one slot, without an id. */
  private static boolean isTake(Operation.Judge judge) {
    Plan plan = judge.plan;
    if (plan.intent() != Intent.TAKE || plan.id() != null || judge.held) {
      return false;
    }
    for (Charge charge : plan.charges()) {
      if (!charge.enforced() || charge.cost() == 0) {
        return false;
      }
    }
    return true;
  }

  @SuppressWarnings("ReferenceEquality") // encoded once for each terms
  private boolean addQuick(Operation.Judge plan) {
    Charge charge = plan.plan.charges().get(0);
    EncodedTerms.Quick quick = encoding.apply(charge.terms()).quick();
    if (quick == null
        || plan.plan.charges().size() > 1
        || charge.cost() > quick.bucket().capacity()) {
      return false;
    }
    quickPlans.add(plan);
    for (Group group : groups) {
      if (group.quick == quick && group.cost == charge.cost()) {
        group.add(plan);
        return true;
      }
    }
    Group group = new Group(quick, charge.cost());
    group.add(plan);
    groups.add(group);
    return true;
  }

  private boolean addPlain(Operation.Judge plan) {
    List<Charge> charges = plan.plan.charges();
    if (plainKeys + charges.size() > MOST_PLAIN_KEYS) {
      return false;
    }
    List<EncodedTerms.Plain> terms = new ArrayList<>(charges.size());
    for (Charge charge : charges) {
      EncodedTerms.Plain plain = encoding.apply(charge.terms()).plain();
      if (plain == null || charge.cost() > plain.leastQuota()) {
        return false;
      }
      terms.add(plain);
    }
    plainKeys += charges.size();
    for (PlainGroup group : plainGroups) {
      if (group.fits(terms, plan)) {
        group.plans.add(plan);
        return true;
      }
    }
    plainGroups.add(new PlainGroup(terms, new ArrayList<>(List.of(plan))));
    return true;
  }

  /** The call of the quick script, or null if no plan here is of its kind. */
  @Nullable ScriptCall quickCall(long testNow) {
    if (groups.isEmpty()) {
      return null;
    }
    groups.forEach(Group::order);
    // At an odd microsecond of a test's clock, one plan goes the way of several.
    if (quickPlans.size() == 1 && testNow % 2 == 0) {
      return groups.get(0).callOne(testNow, quickPlans);
    }
    List<String> keys = new ArrayList<>(quickPlans.size());
    List<String> words = new ArrayList<>();
    words.add(Long.toString(testNow));
    for (Group group : groups) {
      int plansEach = 1;
      int count = 0;
      for (Map.Entry<String, List<Operation.Judge>> account : group.accounts) {
        if (account.getValue().size() != plansEach) {
          group.describe(count, plansEach, words);
          plansEach = account.getValue().size();
          count = 0;
        }
        keys.add(account.getKey());
        count++;
      }
      group.describe(count, plansEach, words);
    }
    return new ScriptCall(
        Script.QUICK, keys.toArray(new String[0]), words.toArray(new String[0]), quickPlans);
  }

  /** The call of the plain script, or null if no plan here is of its kind. */
  @Nullable ScriptCall plainCall(long testNow) {
    if (plainGroups.isEmpty()) {
      return null;
    }
    IdentityHashMap<EncodedTerms.Plain, String> numbers = new IdentityHashMap<>();
    List<String> texts = new ArrayList<>();
    List<String> words = new ArrayList<>();
    List<Operation<?>> operations = new ArrayList<>();
    for (PlainGroup group : plainGroups) {
      words.add(Integer.toString(group.plans.size()));
      words.add(Integer.toString(group.terms.size()));
      for (int i = 0; i < group.terms.size(); i++) {
        words.add(
            numbers.computeIfAbsent(
                group.terms.get(i),
                fresh -> {
                  texts.addAll(fresh.words());
                  return Integer.toString(numbers.size() + 1);
                }));
        words.add(Long.toString(group.plans.get(0).plan.charges().get(i).cost()));
      }
      operations.addAll(group.plans);
    }
    List<String> all = new ArrayList<>(2 + texts.size() + words.size());
    all.add(Long.toString(testNow));
    all.add(Integer.toString(numbers.size()));
    all.addAll(texts);
    all.addAll(words);
    return new ScriptCall(Script.PLAIN, keys(operations), all.toArray(new String[0]), operations);
  }

  /** The call of the whole script, or null if there is nothing for it. */
  @Nullable ScriptCall wholeCall(long testNow, List<Long> moments) {
    if (others.isEmpty()) {
      return null;
    }
    List<String> words = new ArrayList<>();
    List<String> texts = new ArrayList<>();
    IdentityHashMap<Terms, Integer> numbers = new IdentityHashMap<>();
    Operation.Arguments to =
        new Operation.Arguments() {
          @Override
          public void add(String argument) {
            words.add(argument);
          }

          @Override
          public int number(Terms terms) {
            return numbers.computeIfAbsent(
                terms,
                fresh -> {
                  texts.add(encoding.apply(fresh).text(moments));
                  return texts.size();
                });
          }
        };
    others.forEach(operation -> operation.write(to));
    List<String> all = new ArrayList<>(2 + texts.size() + words.size());
    all.add(Long.toString(testNow));
    all.add(Integer.toString(texts.size()));
    all.addAll(texts);
    all.addAll(words);
    return new ScriptCall(Script.WHOLE, keys(others), all.toArray(new String[0]), others);
  }

  private String[] keys(List<? extends Operation<?>> operations) {
    List<String> keys = new ArrayList<>(operations.size());
    for (Operation<?> operation : operations) {
      String callKey = operation.callKey();
      if (callKey != null) {
        keys.add(callKey);
      }
      operation.accounts().forEach(account -> keys.add(Keyspace.key(account)));
    }
    if (namesLogs) {
      for (Operation<?> operation : operations) {
        operation.logs().forEach(account -> keys.add(Keyspace.logKey(Keyspace.key(account))));
      }
    }
    return keys.toArray(new String[0]);
  }

  /** Hands the quick script's replies out; plans that need the whole script go to {@code slow}. */
  void readQuick(List<Object> replies, Consumer<Operation<?>> slow) {
    long now = (Long) replies.get(0);
    int at = 1;
    for (Group group : groups) {
      long asked = group.askedMicros();
      for (Map.Entry<String, List<Operation.Judge>> account : group.accounts) {
        long lacks = (Long) replies.get(at++);
        if (lacks == Script.SLOW) {
          account.getValue().forEach(slow);
          continue;
        }
        for (Operation.Judge plan : account.getValue()) {
          boolean fits = lacks + asked <= group.quick.fullMicros();
          lacks += fits ? asked : 0;
          plan.answer.complete(plan.readQuick(group.quick, fits, now, lacks));
        }
      }
    }
  }

  /** Hands the plain script's replies out, as {@link #readQuick} does. */
  void readPlain(List<Object> replies, Consumer<Operation<?>> slow) {
    Iterator<Object> numbers = replies.iterator();
    long now = (Long) numbers.next();
    for (PlainGroup group : plainGroups) {
      for (Operation.Judge plan : group.plans) {
        long verdict = (Long) numbers.next();
        if (verdict == Script.SLOW) {
          slow.accept(plan);
        } else {
          plan.answer.complete(plan.readPlain(verdict == 1, now, numbers));
        }
      }
    }
  }
}
