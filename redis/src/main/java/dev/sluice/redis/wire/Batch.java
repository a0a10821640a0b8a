package dev.sluice.redis.wire;

import dev.sluice.Terms;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Operations that share one call of the library. */
public final class Batch {
  /**
   * Groups of plans with the same rules and costs: the plan is sent once per group, followed by the
   * accounts.
   */
  private final List<List<JudgeOperation>> groups = new ArrayList<>();

  private final List<Operation<?>> others = new ArrayList<>();
  private int weight;

  /** A call of the library: its arguments, and the operations that it answers, in order. */
  static final class Request {
    final String[] keys;
    final String[] arguments;
    final List<Operation<?>> operations;
    private volatile @Nullable CompletableFuture<?> flight;

    Request(String[] keys, String[] arguments, List<Operation<?>> operations) {
      this.keys = keys;
      this.arguments = arguments;
      this.operations = operations;
    }

    void fliesAs(CompletableFuture<?> sent) {
      flight = sent;
      operations.forEach(each -> each.sentWith(this));
      cancelIfDone(); // its caller may have stopped waiting meanwhile
    }

    boolean isDone() {
      return operations.stream().allMatch(each -> each.answer.isDone());
    }

    /**
     * Cancels a call that nobody waits for, so that it is not written once the client has a
     * connection. Only for a single operation, like the first call to a node. Cancelling lets the
     * line send its next call, so callers that time out together would flush the whole queue to a
     * Redis that does not answer.
     */
    void cancelIfDone() {
      CompletableFuture<?> sent = flight;
      if (sent != null && operations.size() == 1 && isDone()) {
        sent.cancel(false);
      }
    }
  }

  void add(Operation<?> operation) {
    weight += operation.weight();
    if (!(operation instanceof JudgeOperation judge) || !judge.isPlain()) {
      others.add(operation);
      return;
    }
    for (List<JudgeOperation> group : groups) {
      if (group.get(0).goesWith(judge)) {
        group.add(judge);
        return;
      }
    }
    List<JudgeOperation> group = new ArrayList<>();
    group.add(judge);
    groups.add(group);
  }

  /** The weight: the number of limits to check. */
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
   * Encodes the call.
   *
   * @param reads whether the call must not write
   * @param testNow microseconds to use instead of the clock of Redis, or 0
   * @param moments the times whose calendar windows are sent along
   * @param namesAll whether all keys are named, as a Cluster requires
   */
  Request request(
      Function<Terms, EncodedTerms> encoding,
      boolean reads,
      long testNow,
      List<Long> moments,
      boolean namesAll) {
    List<Operation<?>> operations = new ArrayList<>();
    boolean inOrder = groups.size() == 1 && others.isEmpty() && !namesAll;
    Words words = new Words(encoding, moments, inOrder);
    words.add(reads ? "r" : "w");
    words.add(testNow);
    for (List<JudgeOperation> group : groups) {
      JudgeOperation.write(group, words);
      operations.addAll(group);
    }
    for (Operation<?> other : others) {
      other.write(words);
      operations.add(other);
    }
    List<String> keys = new ArrayList<>(words.places.keySet());
    if (namesAll) {
      operations.forEach(operation -> operation.nameKeysBeside(keys::add));
    }
    return new Request(keys.toArray(new String[0]), words.words.toArray(new String[0]), operations);
  }

  /** Collects the arguments of a call. */
  private static final class Words implements Operation.Arguments {
    private static final int DIGITS = 128; // characters that are one byte in UTF-8

    private final Function<Terms, EncodedTerms> encoding;
    private final List<Long> moments;

    /** Whether the first places are those of all keys. */
    private final boolean inOrder;

    private final List<String> words = new ArrayList<>();
    private final LinkedHashMap<String, Integer> places = new LinkedHashMap<>();

    Words(Function<Terms, EncodedTerms> encoding, List<Long> moments, boolean inOrder) {
      this.encoding = encoding;
      this.moments = moments;
      this.inOrder = inOrder;
    }

    @Override
    public void add(String argument) {
      words.add(argument);
    }

    @Override
    public String encoded(Terms terms) {
      return encoding.apply(terms).text(moments);
    }

    @Override
    public void addPlaces(List<String> keys) {
      StringBuilder encoded = new StringBuilder(2 * keys.size());
      for (String key : keys) {
        Integer known = places.get(key);
        int place = known == null ? places.size() + 1 : known;
        if (known == null) {
          places.put(key, place);
        }
        if (place >= DIGITS * DIGITS) {
          throw new IllegalStateException("a call on more than 16,383 accounts");
        }
        encoded.append((char) (place % DIGITS)).append((char) (place / DIGITS));
      }
      words.add(inOrder && places.size() == keys.size() ? "" : encoded.toString());
    }
  }
}
