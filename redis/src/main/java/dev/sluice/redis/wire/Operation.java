package dev.sluice.redis.wire;

import dev.sluice.Account;
import dev.sluice.Limit;
import dev.sluice.Receipt;
import dev.sluice.Terms;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One operation of the library (see run.lua), and what follows its result. */
public abstract class Operation<R> {
  private static final Logger LOG = LoggerFactory.getLogger(Operation.class);

  /** How long what one slot took for a call can wait for the other slots. */
  static final Duration HOLD = Duration.ofSeconds(10);

  /** The keyspace of its keys, fixed even if the secret changes meanwhile. */
  public final Keyspace keyspace;

  private final AtomicReference<@Nullable BiConsumer<@Nullable R, @Nullable Throwable>> then =
      new AtomicReference<>();
  private volatile Batch.@Nullable Request request;

  Operation(Keyspace keyspace) {
    this.keyspace = keyspace;
  }

  /** Says, before it is sent, what receives its result or its error. Only the first counts. */
  public final void then(BiConsumer<@Nullable R, @Nullable Throwable> next) {
    then.set(next);
  }

  /** Whether nobody waits for its result: it has one, it failed, or it was given up. */
  public final boolean isDone() {
    return then.get() == null;
  }

  /** Passes on its result. */
  public final void succeed(R result) {
    end(result, null);
  }

  /** Fails it. If Redis answers later, that is ignored. */
  public final void fail(Throwable error) {
    end(null, error);
  }

  private void end(@Nullable R result, @Nullable Throwable error) {
    BiConsumer<@Nullable R, @Nullable Throwable> next = then.getAndSet(null);
    if (next == null) {
      return;
    }
    try {
      next.accept(result, error);
    } catch (RuntimeException | Error e) {
      LOG.error("What follows an answer of Redis threw an exception", e); // others wait for theirs
    }
  }

  /** Remembers the call that carries it. */
  final void sentWith(Batch.Request call) {
    request = call;
  }

  /** Ignores its result. Cancels its call if it was not written yet and carries nothing else. */
  public final void giveUp() {
    then.set(null);
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

  /** Writes the places of the accounts of a receipt. */
  final void place(List<Receipt.Entry> entries, Arguments to) {
    for (Receipt.Entry entry : entries) {
      to.place(keyspace, entry.account());
    }
    to.addPlaces();
  }

  /**
   * Names the keys of the sliding logs of an account. Sums are named only if the cost is in them:
   * while a slot moves, Redis refuses a call that names keys of which only some are there.
   */
  final void nameLogs(Account account, Terms terms, long cost, Consumer<String> to) {
    int log = 0;
    for (Limit limit : terms.limits()) {
      if (limit instanceof Limit.SlidingLog) {
        log++;
        String key = Keyspace.logKey(keyspace.key(account), log);
        to.accept(key);
        if (cost > 1) {
          to.accept(Keyspace.sumsKey(key));
        }
      }
    }
  }
}
