package dev.sluice.redis;

import dev.sluice.Account;
import dev.sluice.Balance;
import dev.sluice.CallName;
import dev.sluice.Charge;
import dev.sluice.Decision;
import dev.sluice.Durations;
import dev.sluice.IdReusedException;
import dev.sluice.Intent;
import dev.sluice.Limit;
import dev.sluice.Plan;
import dev.sluice.Receipt;
import dev.sluice.Store;
import dev.sluice.Terms;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/** One thing that a script is asked to do, and the place where its answer goes. */
abstract class Operation<R> {
  final CompletableFuture<R> answer = new CompletableFuture<>();

  /** The accounts it touches, in the order of the script's arguments. */
  abstract List<Account> accounts();

  /** The key under which a call with an id is remembered, if it touches that. */
  @Nullable String callKey() {
    return null;
  }

  /** The accounts of which it touches a sliding log. */
  List<Account> logs() {
    return List.of();
  }

  static boolean hasLog(Terms terms) {
    return terms.limits().stream().anyMatch(Limit.SlidingLog.class::isInstance);
  }

  /** Writes its arguments; terms are named by the number that the batch gives them. */
  abstract void write(Arguments to);

  /** Reads the script's reply. */
  abstract R read(Object reply);

  /** Whether it can be sent again without being counted twice. */
  boolean isSafeToResend() {
    return false;
  }

  /** The arguments of one script call. */
  interface Arguments {
    void add(String argument);

    int number(Terms terms);

    default void add(long number) {
      add(Long.toString(number));
    }
  }

  private static long number(Object reply) {
    return (Long) reply;
  }

  /** Take, peek or record. */
  static final class Judge extends Operation<Decision> {
    private static final long ID_REUSED = -3;

    final Plan plan;
    final boolean held;
    private final @Nullable CallName name;
    private final @Nullable String callKey;
    private final long made;
    private final long leastMemory;

    private Judge(
        Plan plan,
        boolean held,
        @Nullable CallName name,
        @Nullable String callKey,
        long made,
        long leastMemory) {
      this.plan = plan;
      this.held = held;
      this.name = name;
      this.callKey = callKey;
      this.made = made;
      this.leastMemory = leastMemory;
    }

    /** The whole of a plan, on one Redis. */
    Judge(Plan plan) {
      this(plan, CallName.of(plan));
    }

    private Judge(Plan plan, @Nullable CallName name) {
      this(
          plan,
          false,
          name,
          name == null ? null : Keyspace.callKey(plan.caller(), name),
          madeId(),
          0);
    }

    /**
     * The parts of a plan, one for each slot of a Cluster. They share the id of their receipts and
     * for how long the call is remembered.
     *
     * @param held whether what a part takes locks nobody until {@link Release}, because another
     *     slot may still deny the call
     * @param now Redis' clock, to tell how long the rounds of calendars are
     */
    static List<Judge> parts(Plan plan, Collection<List<Charge>> slots, boolean held, long now) {
      long made = madeId();
      long memory = 0;
      if (CallName.of(plan) != null) {
        for (Charge charge : plan.charges()) {
          memory = Math.max(memory, charge.enforced() ? charge.terms().memoryMicros(now) : 0);
        }
      }
      List<Judge> parts = new ArrayList<>(slots.size());
      for (List<Charge> slot : slots) {
        Plan part = plan.with(slot);
        CallName name = CallName.of(part);
        String callKey = name == null ? null : Keyspace.callKeyBeside(slot.get(0).account(), name);
        parts.add(new Judge(part, held, name, callKey, made, memory));
      }
      return parts;
    }

    /** The number of an id that is made for one call. */
    private static long madeId() {
      return ThreadLocalRandom.current().nextLong(Long.MAX_VALUE);
    }

    /** The id of the receipt; its digits only if somebody wants them. */
    String receiptId() {
      return name == null ? Long.toString(made, Character.MAX_RADIX) : name.receiptId();
    }

    @Override
    @Nullable String callKey() {
      return callKey;
    }

    @Override
    List<Account> accounts() {
      return plan.charges().stream().map(Charge::account).toList();
    }

    @Override
    List<Account> logs() {
      return plan.charges().stream()
          .filter(charge -> hasLog(charge.terms()))
          .map(Charge::account)
          .toList();
    }

    @Override
    boolean isSafeToResend() {
      return plan.id() != null || plan.intent() == Intent.PEEK;
    }

    @Override
    void write(Arguments to) {
      List<Charge> charges = plan.charges();
      to.add(held ? "H" : plan.intent().name().substring(0, 1));
      to.add(receiptId());
      to.add(name == null ? "" : name.question());
      if (name != null) {
        to.add(name.charges());
        to.add(leastMemory);
      }
      to.add(charges.size());
      for (int i = 0; i < charges.size(); i++) {
        Charge charge = charges.get(i);
        to.add(to.number(charge.terms()));
        to.add(charge.cost());
        to.add(charge.enforced() ? 1 : 0);
        to.add(firstOfRule(charges, i));
      }
    }

    private static int firstOfRule(List<Charge> charges, int i) {
      int first = 0;
      while (!charges.get(first).rule().name().equals(charges.get(i).rule().name())) {
        first++;
      }
      return first;
    }

    @Override
    Decision read(Object reply) {
      List<?> numbers = (List<?>) reply;
      if (number(numbers.get(0)) == ID_REUSED) {
        throw new IdReusedException(String.valueOf(plan.id()));
      }
      long now = number(numbers.get(1));
      List<Balance> balances = new ArrayList<>();
      List<Receipt.Entry> entries = new ArrayList<>();
      int at = 2;
      for (Charge charge : plan.charges()) {
        long costTaken = number(numbers.get(at++)) - 1;
        long lockedUntil = number(numbers.get(at++));
        List<Receipt.Mark> marks = new ArrayList<>();
        for (Limit limit : charge.terms().limits()) {
          long wait = number(numbers.get(at + 1));
          balances.add(
              new Balance(
                  charge.account(),
                  limit,
                  charge.enforced(),
                  number(numbers.get(at)),
                  wait < 0 ? Balance.NEVER : wait,
                  number(numbers.get(at + 2)),
                  lockedUntil));
          marks.add(new Receipt.Mark(number(numbers.get(at + 3)), number(numbers.get(at + 4))));
          at += 5;
        }
        if (costTaken >= 0) {
          entries.add(new Receipt.Entry(charge.account(), charge.terms(), costTaken, marks));
        }
      }
      return number(numbers.get(0)) == 1
          ? Decision.Allowed.of(balances, () -> new Receipt(receiptId(), now, entries))
          : new Decision.Denied(balances);
    }

    /** The moment whose calendar rounds the script lacks, or null. */
    static @Nullable Long lacksRounds(Object reply) {
      return reply instanceof List<?> list && list.size() == 2 && number(list.get(0)) == -2
          ? (Long) list.get(1)
          : null;
    }

    /** Reads what the quick script says: what the bucket lacks once the plan was judged. */
    Decision readQuick(EncodedTerms.Quick quick, boolean allowed, long now, long lacks) {
      Charge charge = plan.charges().get(0);
      List<Balance> balances =
          List.of(balance(charge, quick.bucket(), lacks, allowed ? 0 : charge.cost()));
      if (!allowed) {
        return new Decision.Denied(balances);
      }
      return Decision.Allowed.of(
          balances,
          () -> {
            List<Receipt.Mark> marks = List.of(new Receipt.Mark(now + lacks, 0));
            return new Receipt(
                receiptId(),
                now,
                List.of(new Receipt.Entry(charge.account(), charge.terms(), charge.cost(), marks)));
          });
    }

    /** Reads the reply of the plain script: what is used of each limit. */
    Decision readPlain(boolean allowed, long now, Iterator<Object> numbers) {
      List<Balance> balances = new ArrayList<>();
      List<Receipt.Entry> entries = new ArrayList<>();
      for (Charge charge : plan.charges()) {
        List<Receipt.Mark> marks = new ArrayList<>(charge.terms().limits().size());
        for (Limit limit : charge.terms().limits()) {
          long used = number(numbers.next());
          long asked = allowed ? 0 : charge.cost();
          if (limit instanceof Limit.TokenBucket bucket) {
            balances.add(balance(charge, bucket, used, asked));
            long perMicro = bucket.unitsPerMicro();
            marks.add(new Receipt.Mark(now + used / perMicro, used % perMicro));
          } else {
            balances.add(balance(charge, (Limit.FixedWindow) limit, used, asked, now));
            marks.add(new Receipt.Mark(now, 0));
          }
        }
        entries.add(new Receipt.Entry(charge.account(), charge.terms(), charge.cost(), marks));
      }
      return allowed
          ? Decision.Allowed.of(balances, () -> new Receipt(receiptId(), now, entries))
          : new Decision.Denied(balances);
    }

    private static Balance balance(
        Charge charge, Limit.TokenBucket bucket, long lacks, long asked) {
      long over = lacks + asked * bucket.unitsPerToken() - bucket.capacityUnits();
      return new Balance(
          charge.account(),
          bucket,
          true,
          (bucket.capacityUnits() - lacks) / bucket.unitsPerToken(),
          over <= 0 ? 0 : ceilDiv(over, bucket.unitsPerMicro()),
          ceilDiv(lacks, bucket.unitsPerMicro()),
          0);
    }

    private static Balance balance(
        Charge charge, Limit.FixedWindow window, long used, long asked, long now) {
      long left = window.cycle().at(now).endMicros() - now;
      return new Balance(
          charge.account(),
          window,
          true,
          Math.max(0, window.limit() - used),
          used + asked <= window.limit() ? 0 : left,
          used == 0 ? 0 : left,
          0);
    }

    private static long ceilDiv(long a, long b) {
      return (a + b - 1) / b;
    }
  }

  /** Settles a receipt, or the entries of it that lie in one slot. */
  static final class Settle extends Operation<Boolean> {
    /** What is settled, as the script reads it. */
    private enum Kind {
      TAKEN("0"),
      UNDONE("1"),
      FORGOTTEN("2");

      private final String word;

      Kind(String word) {
        this.word = word;
      }
    }

    private final String id;
    private final long takenAtMicros;
    private final List<Receipt.Entry> entries;
    private final long actualCost;
    private final long memory;
    private final Kind kind;
    private final @Nullable String callKey;

    private Settle(
        Receipt receipt,
        List<Receipt.Entry> entries,
        long actualCost,
        long memory,
        Kind kind,
        @Nullable String callKey) {
      this.id = receipt.id();
      this.takenAtMicros = receipt.takenAtMicros();
      this.entries = entries;
      this.actualCost = actualCost;
      this.memory = memory;
      this.kind = kind;
      this.callKey = callKey;
    }

    /** Settles what a caller took. */
    static Settle of(Receipt receipt, List<Receipt.Entry> entries, long actualCost) {
      long memory = Durations.micros(Store.CALL_MEMORY);
      for (Receipt.Entry entry : receipt.entries()) {
        memory = Math.max(memory, 2 * entry.terms().memoryMicros(receipt.takenAtMicros()));
      }
      return new Settle(receipt, entries, actualCost, memory, Kind.TAKEN, null);
    }

    /**
     * Gives back what one slot of a Cluster took for a call that is denied, and forgets its id
     * there. No caller has a receipt for it, so that it was given back is remembered only while
     * this may be sent again.
     */
    static Settle undo(Judge part, Receipt receipt, List<Receipt.Entry> entries) {
      long memory = Durations.micros(Duration.ofSeconds(10));
      Kind kind = part.callKey() == null ? Kind.UNDONE : Kind.FORGOTTEN;
      return new Settle(receipt, entries, 0, memory, kind, part.callKey());
    }

    /**
     * Gives back what one slot of a Cluster took for a call that is allowed, by a rule in shadow
     * mode that another slot refused: once, although the answer to an id may be repeated.
     */
    static Settle undoShadow(Receipt receipt, List<Receipt.Entry> entries) {
      long memory = Durations.micros(Store.CALL_MEMORY);
      return new Settle(receipt, entries, 0, memory, Kind.TAKEN, null);
    }

    @Override
    @Nullable String callKey() {
      return callKey;
    }

    @Override
    List<Account> accounts() {
      return entries.stream().map(Receipt.Entry::account).toList();
    }

    @Override
    List<Account> logs() {
      return entries.stream()
          .filter(entry -> hasLog(entry.terms()))
          .map(Receipt.Entry::account)
          .toList();
    }

    @Override
    boolean isSafeToResend() {
      return true;
    }

    @Override
    void write(Arguments to) {
      to.add("S");
      to.add(id);
      to.add(takenAtMicros);
      to.add(actualCost);
      to.add(memory);
      to.add(kind.word);
      to.add(entries.size());
      for (Receipt.Entry entry : entries) {
        to.add(to.number(entry.terms()));
        to.add(entry.cost());
        for (Receipt.Mark mark : entry.marks()) {
          to.add(mark.micros());
          to.add(mark.units());
        }
      }
    }

    @Override
    Boolean read(Object reply) {
      return number(reply) == 1;
    }
  }

  /** Says that a call over several slots has passed, so what it took here is final. */
  static final class Release extends Operation<Long> {
    private final String id;
    private final List<Account> accounts;

    Release(String id, List<Account> accounts) {
      this.id = id;
      this.accounts = accounts;
    }

    @Override
    List<Account> accounts() {
      return accounts;
    }

    @Override
    boolean isSafeToResend() {
      return true;
    }

    @Override
    void write(Arguments to) {
      to.add("C");
      to.add(id);
      to.add(accounts.size());
    }

    @Override
    Long read(Object reply) {
      return number(reply);
    }
  }

  /** Reset, lock by hand or lift: one account and a few words. */
  static final class Manage extends Operation<Long> {
    private final Account account;
    private final List<String> words;

    private Manage(Account account, String... words) {
      this.account = account;
      this.words = List.of(words);
    }

    static Manage reset(Account account) {
      return new Manage(account, "X");
    }

    static Manage lock(Account account, Duration length, String reason) {
      String micros = Long.toString(Durations.micros(length));
      return new Manage(account, "K", micros, EncodedTerms.reason(reason));
    }

    static Manage lift(Account account) {
      return new Manage(account, "U");
    }

    @Override
    List<Account> accounts() {
      return List.of(account);
    }

    @Override
    boolean isSafeToResend() {
      return true;
    }

    @Override
    void write(Arguments to) {
      words.forEach(to::add);
    }

    @Override
    Long read(Object reply) {
      return number(reply);
    }
  }
}
