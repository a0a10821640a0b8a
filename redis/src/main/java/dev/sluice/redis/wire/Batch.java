package dev.sluice.redis.wire;

import dev.sluice.Terms;
import io.lettuce.core.protocol.RedisCommand;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Operations that share one call of the library. */
final class Batch {
  /**
   * Groups of plans with the same rules and costs: the plan is sent once per group, followed by the
   * accounts.
   */
  private final List<List<JudgeOperation>> groups = new ArrayList<>();

  private final List<Operation<?>> others = new ArrayList<>();
  private final boolean needsWholeScript;
  private int weight;

  /**
   * An empty batch.
   *
   * @param needsWholeScript whether the short script could not decide its operations
   */
  Batch(boolean needsWholeScript) {
    this.needsWholeScript = needsWholeScript;
  }

  /** A call of the library: its arguments, and the operations that it answers, in order. */
  static final class Request {
    final Arguments arguments;
    final List<Operation<?>> operations;

    /** Whether the short script can decide all, as far as is known. */
    final boolean suitsShortScript;

    private volatile @Nullable RedisCommand<?, ?, ?> flight;

    Request(Arguments arguments, List<Operation<?>> operations, boolean suitsShortScript) {
      this.arguments = arguments;
      this.operations = operations;
      this.suitsShortScript = suitsShortScript;
      for (Operation<?> operation : operations) {
        operation.sentWith(this);
      }
    }

    void fliesAs(RedisCommand<?, ?, ?> sent) {
      flight = sent;
      cancelIfDone(); // its caller may have stopped waiting meanwhile
    }

    boolean isDone() {
      for (Operation<?> operation : operations) {
        if (!operation.isDone()) {
          return false;
        }
      }
      return true;
    }

    /**
     * Cancels a call that nobody waits for, so that it is not written once the client has a
     * connection. Only for a single operation, like the first call to a node. Cancelling lets the
     * line send its next call, so callers that time out together would flush the whole queue to a
     * Redis that does not answer.
     */
    void cancelIfDone() {
      RedisCommand<?, ?, ?> sent = flight;
      if (sent != null && operations.size() == 1 && isDone() && !sent.isDone()) {
        // The client of a Cluster writes a command that was only cancelled.
        sent.completeExceptionally(new CancellationException());
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
    groups.forEach(group -> group.forEach(each -> each.fail(error)));
    others.forEach(each -> each.fail(error));
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
    List<Operation<?>> operations = new ArrayList<>(weight);
    boolean isOneGroup = groups.size() == 1 && others.isEmpty() && !namesAll;
    Arguments arguments = new Arguments(encoding, moments, weight, isOneGroup);
    boolean suitsShortScript = !needsWholeScript && !reads && others.isEmpty();
    arguments.add(reads ? "r" : "w");
    arguments.add(testNow);
    for (List<JudgeOperation> group : groups) {
      JudgeOperation.write(group, arguments);
      suitsShortScript = suitsShortScript && group.get(0).suitsShortScript();
      operations.addAll(group);
    }
    for (Operation<?> other : others) {
      other.write(arguments);
      operations.add(other);
    }
    if (namesAll) {
      operations.forEach(operation -> operation.nameKeysBeside(arguments::addKey));
    }
    return new Request(arguments, operations, suitsShortScript);
  }
}
