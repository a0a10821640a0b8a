package dev.sluice.redis.wire;

import dev.sluice.Balance;
import dev.sluice.Decision;
import dev.sluice.Intent;
import dev.sluice.internal.Durations;
import dev.sluice.store.CallName;
import dev.sluice.store.Charge;
import dev.sluice.store.Plan;
import dev.sluice.store.Verdict;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Decides a plan: take, reserve, peek or record. */
public final class JudgeOperation extends Operation<Decision> {
  /** The plan, or the part of it in one slot. */
  public final Plan plan;

  /**
   * Whether what it takes is held until {@link CloseOperation}, because another slot may still
   * deny.
   */
  public final boolean held;

  /** Whether other slots decide other parts of the plan. */
  public final boolean isPart;

  private final @Nullable CallName name;
  private final @Nullable String callKey;
  private final @Nullable String receiptId;
  private final long leastMemory;

  private JudgeOperation(
      Keyspace keyspace,
      Plan plan,
      boolean held,
      boolean isPart,
      @Nullable CallName name,
      @Nullable String callKey,
      @Nullable String receiptId,
      long leastMemory) {
    super(keyspace);
    this.plan = plan;
    this.held = held;
    this.isPart = isPart;
    this.name = name;
    this.callKey = callKey;
    this.receiptId = name == null ? receiptId : name.receiptId();
    this.leastMemory = leastMemory;
  }

  /** A whole plan, on a single Redis. */
  public JudgeOperation(Keyspace keyspace, Plan plan) {
    this(keyspace, plan, CallName.of(plan));
  }

  private JudgeOperation(Keyspace keyspace, Plan plan, @Nullable CallName name) {
    this(
        keyspace,
        plan,
        false,
        false,
        name,
        name == null ? null : Keyspace.CALLS + name.call(),
        null,
        0);
  }

  /**
   * The parts of a plan, one for each slot of a Cluster. They share the id of their receipts and
   * the time for which the call is remembered.
   *
   * @param held whether what they take is held until {@link CloseOperation}
   * @param now the clock of Redis, for the length of calendar windows
   */
  public static List<JudgeOperation> parts(
      Keyspace keyspace, Plan plan, Collection<List<Charge>> slots, boolean held, long now) {
    String receiptId = slots.size() == 1 ? null : CallName.madeId();
    long memory = 0;
    if (plan.id() != null) {
      for (Charge charge : plan.charges()) {
        memory = Math.max(memory, charge.enforced() ? charge.terms().horizonMicros(now) : 0);
      }
    }
    List<JudgeOperation> parts = new ArrayList<>(slots.size());
    for (List<Charge> slot : slots) {
      Plan part = plan.with(slot);
      CallName name = CallName.of(part);
      String callKey =
          name == null ? null : keyspace.callsBeside(slot.get(0).account()) + name.call();
      parts.add(
          new JudgeOperation(
              keyspace, part, held, slots.size() > 1, name, callKey, receiptId, memory));
    }
    return parts;
  }

  /** The id of the receipt; null to make one. */
  public @Nullable String receiptId() {
    return receiptId;
  }

  private void place(Arguments to) {
    if (callKey != null) {
      to.place(callKey);
    }
    for (Charge charge : plan.charges()) {
      to.place(keyspace, charge.account());
    }
  }

  @Override
  void nameKeysBeside(Consumer<String> to) {
    if (name != null) {
      to.accept(Keyspace.doneKey(keyspace.key(plan.charges().get(0).account())));
    }
    for (Charge charge : plan.charges()) {
      nameLogs(charge.account(), charge.terms(), charge.cost(), to);
    }
  }

  @Override
  boolean isSafeToResend() {
    return plan.id() != null || plan.intent() == Intent.PEEK;
  }

  @Override
  int weight() {
    int weight = 0;
    for (Charge charge : plan.charges()) {
      weight += charge.terms().limits().size();
    }
    return weight;
  }

  /** Whether both plans have the same encoding, and their order does not matter. */
  @SuppressWarnings("ReferenceEquality") // equal terms are nearly always the same object
  boolean goesWith(JudgeOperation other) {
    List<Charge> charges = plan.charges();
    List<Charge> others = other.plan.charges();
    if (!isPlain() || !other.isPlain() || charges.size() != others.size()) {
      return false;
    }
    for (int i = 0; i < charges.size(); i++) {
      Charge one = charges.get(i);
      Charge two = others.get(i);
      if (one.terms() != two.terms() || one.cost() != two.cost() || one.rule() != two.rule()) {
        return false;
      }
    }
    return true;
  }

  boolean isPlain() {
    return plan.intent() == Intent.TAKE && name == null && !held;
  }

  /** Whether the short script decides it, unless an account is in an unusual state. */
  boolean suitsShortScript() {
    for (Charge charge : plan.charges()) {
      if (!charge.enforced() || charge.cost() == 0) {
        return false;
      }
    }
    return isPlain();
  }

  @Override
  void write(Arguments to) {
    write(List.of(this), to);
  }

  /** Writes the arguments of a group of plans that {@linkplain #goesWith go together}. */
  static void write(List<JudgeOperation> plans, Arguments to) {
    JudgeOperation first = plans.get(0);
    to.add(first.name == null ? "J" : "I");
    to.add(first.planText(to));
    to.add(first.costs());
    for (JudgeOperation plan : plans) {
      plan.place(to);
    }
    to.addPlaces();
    if (first.name != null) {
      to.add(first.name.question());
      to.add(first.name.charges());
      to.add(first.leastMemory);
    }
  }

  /** The encoding of the plan without its accounts and costs. */
  private String planText(Arguments to) {
    boolean reserves = held || plan.intent() == Intent.RESERVE;
    List<Charge> charges = plan.charges();
    StringBuilder text = new StringBuilder();
    text.append(reserves ? 'V' : plan.intent().name().charAt(0)).append(' ');
    text.append(reserves ? Durations.micros(held ? HOLD : plan.hold()) : 0);
    for (int i = 0; i < charges.size(); i++) {
      Charge charge = charges.get(i);
      text.append(charge.enforced() ? "\n1 " : "\n0 ").append(firstOfRule(charges, i));
      text.append(' ').append(to.encoded(charge.terms()));
    }
    return text.toString();
  }

  /** The costs of the charges; apart from the plan, which Redis keeps when it has parsed it. */
  private String costs() {
    List<Charge> charges = plan.charges();
    if (charges.size() == 1) {
      return Long.toString(charges.get(0).cost());
    }
    StringBuilder text = new StringBuilder();
    for (Charge charge : charges) {
      text.append(text.isEmpty() ? "" : " ").append(charge.cost());
    }
    return text.toString();
  }

  private static int firstOfRule(List<Charge> charges, int i) {
    int first = 0;
    while (!charges.get(first).rule().name().equals(charges.get(i).rule().name())) {
      first++;
    }
    return first;
  }

  @Override
  Decision read(Reply reply) {
    boolean plainly = reply.peek() == Reply.PLAINLY;
    List<Charge> charges = plan.charges();
    if (plainly && isPlain() && charges.size() == 1 && weight() == 1 && receiptId == null) {
      reply.next();
      long remaining = reply.next();
      long resetAfter = reply.next();
      return Verdict.taken(charges.get(0), reply.now, 0, remaining, resetAfter, reply.next());
    }
    long[] numbers = new long[Verdict.size(plan)];
    if (plainly) {
      readPlainly(reply, numbers);
    } else {
      for (int i = 0; i < numbers.length; i++) {
        long number = reply.next();
        numbers[i] = number == Reply.NEVER ? Balance.NEVER : number;
      }
    }
    return Verdict.decision(plan, numbers, receiptId);
  }

  /**
   * Reads the short form, which implies that all was taken now, nothing is locked and there is no
   * wait.
   */
  private void readPlainly(Reply reply, long[] numbers) {
    reply.next();
    numbers[0] = 1;
    numbers[1] = reply.now;
    int at = Verdict.HEAD;
    for (Charge charge : plan.charges()) {
      numbers[at] = Verdict.TAKEN;
      numbers[at + 2] = reply.now;
      at += Verdict.OF_CHARGE;
      for (int i = charge.terms().limits().size(); i > 0; i--) {
        numbers[at] = reply.next();
        numbers[at + 2] = reply.next();
        numbers[at + Verdict.MARK] = reply.next();
        at += Verdict.OF_LIMIT;
      }
    }
  }
}
