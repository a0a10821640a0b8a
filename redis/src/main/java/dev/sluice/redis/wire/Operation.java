package dev.sluice.redis.wire;

import dev.sluice.Account;
import dev.sluice.Balance;
import dev.sluice.Decision;
import dev.sluice.Intent;
import dev.sluice.Limit;
import dev.sluice.Receipt;
import dev.sluice.Settled;
import dev.sluice.Settlement;
import dev.sluice.Terms;
import dev.sluice.internal.Durations;
import dev.sluice.store.CallName;
import dev.sluice.store.Charge;
import dev.sluice.store.Plan;
import dev.sluice.store.Verdict;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** One operation of the library (see run.lua), and the future of its result. */
public abstract class Operation<R> {
  /** How long what one slot took for a call can wait for the other slots. */
  static final Duration HOLD = Duration.ofSeconds(10);

  /** The result, once Redis has answered. */
  public final CompletableFuture<R> answer = new CompletableFuture<>();

  /** The keyspace of its keys, fixed even if the secret changes meanwhile. */
  public final Keyspace keyspace;

  private volatile Batch.@Nullable Request request;

  Operation(Keyspace keyspace) {
    this.keyspace = keyspace;
  }

  /** Remembers the call that carries it. */
  void sentWith(Batch.Request call) {
    request = call;
  }

  /** Cancels its call if it was not written yet and nobody waits for any of its answers. */
  public void giveUp() {
    Batch.Request call = request;
    if (call != null) {
      call.cancelIfDone();
    }
  }

  /**
   * Names further keys that it may touch, besides those of its accounts. A Cluster needs them while
   * a slot moves.
   */
  void nameKeysBeside(Consumer<String> to) {}

  /** Writes its arguments. */
  abstract void write(Arguments to);

  /** Reads its result. */
  abstract R read(Reply reply);

  /** Whether it can be sent again without counting twice. */
  boolean isSafeToResend() {
    return true;
  }

  /** The weight: the number of limits to check. */
  int weight() {
    return 1;
  }

  /** The arguments of a call. */
  interface Arguments {
    void add(String argument);

    /** Terms in the encoding of the library. */
    String encoded(Terms terms);

    /** Adds an argument with the positions of account keys. */
    void addPlaces(List<String> keys);

    default void add(long number) {
      add(Long.toString(number));
    }
  }

  final List<String> keys(List<Receipt.Entry> entries) {
    return entries.stream().map(entry -> keyspace.key(entry.account())).toList();
  }

  private static void nameLogs(String key, Terms terms, Consumer<String> to) {
    int log = 0;
    for (Limit limit : terms.limits()) {
      if (limit instanceof Limit.SlidingLog) {
        log++;
        to.accept(Keyspace.logKey(key, log));
      }
    }
  }

  /** Decides a plan: take, reserve, peek or record. */
  public static final class Judge extends Operation<Decision> {
    /** The plan, or the part of it in one slot. */
    public final Plan plan;

    /** Whether what it takes is held until {@link Close}, because another slot may still deny. */
    public final boolean held;

    /** Whether other slots decide other parts of the plan. */
    public final boolean isPart;

    private final @Nullable CallName name;
    private final @Nullable String callKey;
    private final @Nullable String receiptId;
    private final long leastMemory;

    private Judge(
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
    public Judge(Keyspace keyspace, Plan plan) {
      this(keyspace, plan, CallName.of(plan));
    }

    private Judge(Keyspace keyspace, Plan plan, @Nullable CallName name) {
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
     * @param held whether what they take is held until {@link Close}
     * @param now the clock of Redis, for the length of calendar windows
     */
    public static List<Judge> parts(
        Keyspace keyspace, Plan plan, Collection<List<Charge>> slots, boolean held, long now) {
      String receiptId = slots.size() == 1 ? null : CallName.madeId();
      long memory = 0;
      if (plan.id() != null) {
        for (Charge charge : plan.charges()) {
          memory = Math.max(memory, charge.enforced() ? charge.terms().horizonMicros(now) : 0);
        }
      }
      List<Judge> parts = new ArrayList<>(slots.size());
      for (List<Charge> slot : slots) {
        Plan part = plan.with(slot);
        CallName name = CallName.of(part);
        String callKey =
            name == null ? null : keyspace.callsBeside(slot.get(0).account()) + name.call();
        parts.add(
            new Judge(keyspace, part, held, slots.size() > 1, name, callKey, receiptId, memory));
      }
      return parts;
    }

    /** The id of the receipt; null to make one. */
    public @Nullable String receiptId() {
      return receiptId;
    }

    private void nameKeys(List<String> to) {
      if (callKey != null) {
        to.add(callKey);
      }
      for (Charge charge : plan.charges()) {
        to.add(keyspace.key(charge.account()));
      }
    }

    @Override
    void nameKeysBeside(Consumer<String> to) {
      if (name != null) {
        to.accept(Keyspace.doneKey(keyspace.key(plan.charges().get(0).account())));
      }
      for (Charge charge : plan.charges()) {
        nameLogs(keyspace.key(charge.account()), charge.terms(), to);
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
    boolean goesWith(Judge other) {
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

    @Override
    void write(Arguments to) {
      write(List.of(this), to);
    }

    /** Writes the arguments of a group of plans that {@linkplain #goesWith go together}. */
    static void write(List<Judge> plans, Arguments to) {
      Judge first = plans.get(0);
      List<Charge> charges = first.plan.charges();
      List<String> keys = new ArrayList<>(plans.size() * charges.size() + 1);
      plans.forEach(plan -> plan.nameKeys(keys));
      to.add(first.name == null ? "J" : "I");
      to.add(first.planText(to));
      to.addPlaces(keys);
      if (first.name != null) {
        to.add(first.name.question());
        to.add(first.name.charges());
        to.add(first.leastMemory);
      }
    }

    /** The encoding of the plan without its accounts. */
    private String planText(Arguments to) {
      boolean reserves = held || plan.intent() == Intent.RESERVE;
      List<Charge> charges = plan.charges();
      StringBuilder text = new StringBuilder();
      text.append(reserves ? 'V' : plan.intent().name().charAt(0)).append(' ');
      text.append(reserves ? Durations.micros(held ? HOLD : plan.hold()) : 0);
      for (int i = 0; i < charges.size(); i++) {
        Charge charge = charges.get(i);
        text.append('\n').append(charge.cost());
        text.append(charge.enforced() ? " 1 " : " 0 ").append(firstOfRule(charges, i));
        text.append(' ').append(to.encoded(charge.terms()));
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
      long[] numbers = new long[Verdict.size(plan)];
      if (reply.peek() == Reply.PLAINLY) {
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

  /** Settles a receipt, or its entries in one slot. */
  public static final class Settle extends Operation<Settled> {
    private final Receipt receipt;
    private final Settlement settlement;
    private final long openUntil;
    private final long goodUntil;
    private final boolean undoes;
    private final String calls;
    private final Map<Account, Long> locks = new HashMap<>();

    private Settle(
        Keyspace keyspace,
        Receipt receipt,
        Settlement settlement,
        long openUntil,
        long goodUntil,
        boolean undoes,
        String calls) {
      super(keyspace);
      this.receipt = receipt;
      this.settlement = settlement;
      this.openUntil = openUntil;
      this.goodUntil = goodUntil;
      this.undoes = undoes;
      this.calls = calls;
    }

    /**
     * Settles a receipt for a caller.
     *
     * @param entries the entries in one slot
     * @param calls the prefix of calls with an id in that slot
     */
    public static Settle of(
        Keyspace keyspace,
        Receipt receipt,
        List<Receipt.Entry> entries,
        Settlement settlement,
        String calls) {
      return new Settle(
          keyspace,
          receipt.with(entries),
          settlement,
          receipt.openUntilMicros(),
          goodUntil(receipt),
          false,
          calls);
    }

    /**
     * Refunds what one slot took for a call that another slot denied. No caller has a receipt for
     * it, so the refund is remembered only while it may be sent again.
     */
    public static Settle undo(Judge part, Receipt receipt, List<Receipt.Entry> entries) {
      return new Settle(
          part.keyspace,
          receipt.with(entries),
          Settlement.GIVEN_BACK,
          openUntil(part, receipt),
          goodUntil(receipt),
          true,
          part.keyspace.callsBeside(part.plan.charges().get(0).account()));
    }

    /**
     * Refunds what one slot took by a rule in shadow mode that another slot denied, although the
     * call is allowed. It happens once, even if the answer to an id is repeated.
     */
    public static Settle undoShadow(Judge part, Receipt receipt, List<Receipt.Entry> entries) {
      return new Settle(
          part.keyspace,
          receipt.with(entries),
          Settlement.GIVEN_BACK,
          openUntil(part, receipt),
          goodUntil(receipt),
          false,
          "");
    }

    private static long openUntil(Judge part, Receipt receipt) {
      return part.held
          ? receipt.takenAtMicros() + Durations.micros(HOLD)
          : receipt.openUntilMicros();
    }

    /** When nothing is left to refund and no reservation is open. */
    private static long goodUntil(Receipt receipt) {
      long horizon = 0;
      for (Receipt.Entry entry : receipt.entries()) {
        horizon = Math.max(horizon, entry.terms().horizonMicros(receipt.takenAtMicros()));
      }
      return Math.max(receipt.takenAtMicros() + horizon, receipt.openUntilMicros());
    }

    @Override
    void nameKeysBeside(Consumer<String> to) {
      to.accept(Keyspace.doneKey(keyspace.key(receipt.entries().get(0).account())));
      if (receipt.id().length() == CallName.RECEIPT_ID_LENGTH && !calls.isEmpty()) {
        to.accept(calls + receipt.id().substring(0, CallName.CALL_DIGITS));
      }
      for (Receipt.Entry entry : receipt.entries()) {
        nameLogs(keyspace.key(entry.account()), entry.terms(), to);
      }
    }

    @Override
    int weight() {
      return 2 * receipt.entries().size();
    }

    @Override
    void write(Arguments to) {
      to.add("S");
      to.add(receipt.id());
      to.add(receipt.takenAtMicros());
      to.add(receipt.takenAtMicros() + (calls.equals(Keyspace.CALLS) ? 0 : Durations.micros(HOLD)));
      to.add(openUntil);
      to.add(goodUntil);
      to.add(undoes ? 1 : 0);
      to.add(calls);
      to.add(receipt.entries().size());
      for (Receipt.Entry entry : receipt.entries()) {
        to.add(to.encoded(entry.terms()));
        to.add(entry.cost());
        to.add(settlement.costOf(entry));
        to.add(entry.locked() ? 1 : 0);
        to.add(settlement.forgives(entry.account()) ? 1 : 0);
        to.add(entry.given());
        for (Receipt.Mark mark : entry.marks()) {
          to.add(mark.micros());
          to.add(mark.number());
        }
      }
      to.addPlaces(keys(receipt.entries()));
    }

    @Override
    Settled read(Reply reply) {
      if (reply.next() == 0) {
        return Settled.NOT_DONE;
      }
      long[] uncharged = new long[receipt.entries().size()];
      for (int i = 0; i < uncharged.length; i++) {
        uncharged[i] = reply.next();
        long lockedUntil = reply.next();
        if (lockedUntil != 0) {
          locks.put(receipt.entries().get(i).account(), lockedUntil);
        }
      }
      return Settled.of(receipt.entries(), uncharged);
    }

    /** The ends of the locks of its accounts, after it is answered. */
    public Map<Account, Long> locks() {
      return locks;
    }
  }

  /** Confirms what a call over several slots took in one of them. */
  public static final class Close extends Operation<Map<Account, Long>> {
    private final long openUntil;
    private final List<Receipt.Entry> entries;

    /** Confirms some entries of a receipt. */
    public Close(Keyspace keyspace, Receipt receipt, List<Receipt.Entry> entries) {
      super(keyspace);
      this.openUntil = receipt.takenAtMicros() + Durations.micros(HOLD);
      this.entries = entries;
    }

    @Override
    void nameKeysBeside(Consumer<String> to) {
      for (Receipt.Entry entry : entries) {
        nameLogs(keyspace.key(entry.account()), entry.terms(), to);
      }
    }

    /** If it is lost, what was taken stays held for a few seconds. */
    @Override
    boolean isSafeToResend() {
      return false;
    }

    @Override
    void write(Arguments to) {
      to.add("C");
      to.add(openUntil);
      to.add(entries.size());
      for (Receipt.Entry entry : entries) {
        to.add(to.encoded(entry.terms()));
        to.add(entry.cost());
      }
      to.addPlaces(keys(entries));
    }

    /** The end of each lock that the call caused. */
    @Override
    Map<Account, Long> read(Reply reply) {
      Map<Account, Long> locked = new HashMap<>();
      for (Receipt.Entry entry : entries) {
        long until = reply.next();
        if (until != 0) {
          locked.put(entry.account(), until);
        }
      }
      return locked;
    }
  }

  /** A reset, a lock by hand or a lift of one account. */
  public static final class Manage extends Operation<Long> {
    private final String letter;
    private final Account account;
    private final List<String> words;

    private Manage(Keyspace keyspace, String letter, Account account, String... words) {
      super(keyspace);
      this.letter = letter;
      this.account = account;
      this.words = List.of(words);
    }

    /** Forgets the usage and the lock of an account. */
    public static Manage reset(Keyspace keyspace, Account account) {
      return new Manage(keyspace, "X", account);
    }

    /** Locks an account by hand. */
    public static Manage lock(Keyspace keyspace, Account account, Duration length, String reason) {
      String micros = Long.toString(Durations.micros(length));
      return new Manage(keyspace, "K", account, micros, EncodedTerms.reason(reason));
    }

    /** Lifts the lock of an account. */
    public static Manage lift(Keyspace keyspace, Account account, boolean keepUsage) {
      return new Manage(keyspace, "U", account, keepUsage ? "1" : "0");
    }

    @Override
    void write(Arguments to) {
      to.add(letter);
      to.addPlaces(List.of(keyspace.key(account)));
      words.forEach(to::add);
    }

    @Override
    Long read(Reply reply) {
      return reply.next();
    }
  }
}
