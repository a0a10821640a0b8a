package dev.sluice.redis;

import dev.sluice.Charge;
import dev.sluice.Intent;
import dev.sluice.Terms;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Operations that share one round trip: at most one call of each script. */
final class Batch {
  private final Function<Terms, EncodedTerms> encoding;
  private final List<Group> groups = new ArrayList<>();
  private final List<Operation<?>> others = new ArrayList<>();

  /** Plans of one cost under one terms, for the quick script. */
  private record Group(EncodedTerms.Quick quick, long cost, List<Operation.Judge> plans) {}

  /** A script call: what is sent, and what becomes of its reply. */
  record ScriptCall(
      Script script, String[] keys, String[] arguments, List<? extends Operation<?>> operations) {}

  Batch(Function<Terms, EncodedTerms> encoding) {
    this.encoding = encoding;
  }

  @SuppressWarnings("ReferenceEquality") // encoded once for each terms
  void add(Operation<?> operation, boolean quickly) {
    EncodedTerms.Quick quick = quickly ? quick(operation) : null;
    if (quick == null || !(operation instanceof Operation.Judge plan)) {
      others.add(operation);
      return;
    }
    long cost = plan.plan.charges().get(0).cost();
    for (Group group : groups) {
      if (group.quick == quick && group.cost == cost) {
        group.plans.add(plan);
        return;
      }
    }
    List<Operation.Judge> plans = new ArrayList<>();
    plans.add(plan);
    groups.add(new Group(quick, cost, plans));
  }

  private EncodedTerms.@Nullable Quick quick(Operation<?> operation) {
    if (!(operation instanceof Operation.Judge judge)
        || judge.plan.charges().size() != 1
        || judge.plan.intent() != Intent.TAKE
        || judge.plan.id() != null) {
      return null;
    }
    Charge charge = judge.plan.charges().get(0);
    EncodedTerms.Quick quick = encoding.apply(charge.terms()).quick();
    boolean possible =
        quick != null
            && charge.enforced()
            && charge.cost() > 0
            && charge.cost() <= quick.bucket().capacity();
    return possible ? quick : null;
  }

  /** The call of the quick script, or null if no plan here is of its kind. */
  @Nullable ScriptCall quickCall(long testNow) {
    if (groups.isEmpty()) {
      return null;
    }
    List<Operation<?>> operations = new ArrayList<>();
    String[] arguments = new String[1 + 4 * groups.size()];
    arguments[0] = Long.toString(testNow);
    int at = 1;
    for (Group group : groups) {
      arguments[at++] = group.quick.tag();
      arguments[at++] = Long.toString(group.quick.fullMicros());
      arguments[at++] = Long.toString(group.cost * group.quick.tokenMicros());
      arguments[at++] = Integer.toString(group.plans.size());
      operations.addAll(group.plans);
    }
    return new ScriptCall(Script.QUICK, keys(operations), arguments, operations);
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

  private static String[] keys(List<? extends Operation<?>> operations) {
    List<String> keys = new ArrayList<>(operations.size());
    for (Operation<?> operation : operations) {
      operation.accounts().forEach(account -> keys.add(Keyspace.key(account)));
    }
    return keys.toArray(new String[0]);
  }

  /** Hands the quick script's replies out; plans that need the whole script go to {@code slow}. */
  void readQuick(List<Object> replies, Consumer<Operation<?>> slow) {
    long now = (Long) replies.get(0);
    int at = 1;
    for (Group group : groups) {
      for (Operation.Judge plan : group.plans) {
        long reply = (Long) replies.get(at++);
        if (reply == SLOW) {
          slow.accept(plan);
        } else {
          plan.answer.complete(plan.readQuick(group.quick, now, reply));
        }
      }
    }
  }

  /** What the quick script says of an account that it did not touch. */
  private static final long SLOW = -9_007_199_254_740_991L;
}
