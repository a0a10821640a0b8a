package dev.sluice.redis.wire;

import dev.sluice.Limit;
import dev.sluice.Receipt;
import dev.sluice.Terms;
import java.time.Duration;
import java.util.List;
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

  static void nameLogs(String key, Terms terms, Consumer<String> to) {
    int log = 0;
    for (Limit limit : terms.limits()) {
      if (limit instanceof Limit.SlidingLog) {
        log++;
        to.accept(Keyspace.logKey(key, log));
      }
    }
  }
}
