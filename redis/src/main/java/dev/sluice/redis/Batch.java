package dev.sluice.redis;

import dev.sluice.Terms;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.function.Function;

/** Operations that share one call of the library. */
final class Batch {
  /** Takes of the same rules and costs, by whomever: they are told of once, and their accounts. */
  private final List<List<Operation.Judge>> groups = new ArrayList<>();

  private final List<Operation<?>> others = new ArrayList<>();
  private int weight;

  /** A call of the library: what is sent, and whose answers come back, in order. */
  record Request(String[] keys, String[] arguments, List<Operation<?>> operations) {}

  void add(Operation<?> operation) {
    weight += operation.weight();
    if (!(operation instanceof Operation.Judge judge) || !judge.isPlain()) {
      others.add(operation);
      return;
    }
    for (List<Operation.Judge> group : groups) {
      if (group.get(0).goesWith(judge)) {
        group.add(judge);
        return;
      }
    }
    List<Operation.Judge> group = new ArrayList<>();
    group.add(judge);
    groups.add(group);
  }

  /** How much work it is, in limits. */
  int weight() {
    return weight;
  }

  /** Fails every operation. */
  void fail(Throwable error) {
    groups.forEach(group -> group.forEach(each -> each.answer.completeExceptionally(error)));
    others.forEach(each -> each.answer.completeExceptionally(error));
  }

  boolean isEmpty() {
    return groups.isEmpty() && others.isEmpty();
  }

  /**
   * The call.
   *
   * @param reads whether nothing may be written
   * @param testNow microseconds to use in place of Redis' clock, or 0
   * @param moments those whose calendar rounds are sent along
   * @param namesAll whether every key that may be touched is named, as a Cluster must know of them
   */
  Request request(
      Function<Terms, EncodedTerms> encoding,
      boolean reads,
      long testNow,
      List<Long> moments,
      boolean namesAll) {
    List<Operation<?>> operations = new ArrayList<>();
    List<String> words = new ArrayList<>();
    List<String> texts = new ArrayList<>();
    Operation.Arguments to = arguments(encoding, moments, words, texts);
    for (List<Operation.Judge> group : groups) {
      group.get(0).write(to, group.size());
      operations.addAll(group);
    }
    for (Operation<?> other : others) {
      other.write(to);
      operations.add(other);
    }
    List<String> keys = new ArrayList<>(operations.size() + 1);
    operations.forEach(operation -> operation.nameKeys(keys::add));
    if (namesAll) {
      operations.forEach(operation -> operation.nameKeysBeside(keys::add));
    }
    List<String> all = new ArrayList<>(3 + texts.size() + words.size());
    all.add(reads ? "r" : "w");
    all.add(Long.toString(testNow));
    all.add(Integer.toString(texts.size()));
    all.addAll(texts);
    all.addAll(words);
    return new Request(keys.toArray(new String[0]), all.toArray(new String[0]), operations);
  }

  private static Operation.Arguments arguments(
      Function<Terms, EncodedTerms> encoding,
      List<Long> moments,
      List<String> words,
      List<String> texts) {
    IdentityHashMap<Terms, Integer> numbers = new IdentityHashMap<>();
    return new Operation.Arguments() {
      @Override
      public void add(String argument) {
        words.add(argument);
      }

      @Override
      public int number(Terms terms) {
        Integer known = numbers.get(terms);
        if (known == null) {
          texts.add(encoding.apply(terms).text(moments));
          known = texts.size();
          numbers.put(terms, known);
        }
        return known;
      }
    };
  }
}
