package dev.sluice.traffic;

import dev.sluice.Balance;
import dev.sluice.Call;
import dev.sluice.Decision;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import org.apache.datasketches.frequencies.ErrorType;
import org.apache.datasketches.frequencies.ItemsSketch;

/** The clients with the most calls, or the most refused ones, in the last ten minutes. */
final class Clients {
  /*
   * A client is the identity of an account, as the store keeps it: secret values are hashed.
   *
   * Deciding threads only put samples into a bounded buffer, as they are. One background thread makes
   * balances and texts of their identities, and moves them to a sketch of frequent items. Above SAMPLES an interval,
   * one call in `every` is sampled, and counts `every` times. If a burst fills the buffer before
   * `every` has followed, the rest is not sampled.
   *
   * Callers choose how long an identity is. So the samples of an interval are bounded by their size,
   * too, and an identity over LONGEST characters is not listed.
   *
   * There are two sketches, of the current five minutes and of those before.
   *
   * The sketches are not serialized: datasketches-memory refuses JDKs that it does not know, such as
   * 25. Nodes share the most frequent items instead, and `Top` adds them up.
   */
  static final int SAMPLES = 8_192;
  static final int SKETCH_SIZE = 1_024;
  static final int SHARED = 200;
  static final int LONGEST = 2_048;
  private static final int MOST_HELD = 2 * 1024 * 1024; // characters
  private static final int SAMPLE_SIZE = 64; // of a rule, beside the facets of the caller
  private static final int INTERVALS = 150; // of two seconds

  private final ArrayBlockingQueue<Sample> buffer = new ArrayBlockingQueue<>(SAMPLES);
  private final AtomicInteger held = new AtomicInteger();
  private final LongAdder calls = new LongAdder();
  private volatile int every = 1;
  private volatile boolean full;

  // Used by the background thread.
  private ItemsSketch<String> current = new ItemsSketch<>(SKETCH_SIZE);
  private ItemsSketch<String> before = new ItemsSketch<>(SKETCH_SIZE);
  private long counted;
  private int intervals;

  /** The decision on a call, for how many calls it stands, and how much it holds. */
  private record Sample(Decision decision, int weight, int size) {}

  /**
   * A client.
   *
   * @param calls an estimate, never too low by more than was not sampled
   * @param error by how much it is too high at most
   */
  record Client(String identity, long calls, long error) {}

  /** Counts a call. Cheap, for deciding threads. */
  void add(Call call, Decision decision) {
    calls.increment();
    int weight = every;
    if (!full && (weight == 1 || ThreadLocalRandom.current().nextInt(weight) == 0)) {
      int size = call.rules().size() * SAMPLE_SIZE + call.identity().length();
      if (held.addAndGet(size) > MOST_HELD || !buffer.offer(new Sample(decision, weight, size))) {
        held.addAndGet(-size);
        full = true;
      }
    }
  }

  /** The number of calls. */
  long calls() {
    return calls.sum();
  }

  private static Set<String> identities(List<Balance> balances) {
    if (balances.size() == 1) {
      return Set.of(balances.get(0).account().identity().toString());
    }
    Set<String> identities = new LinkedHashSet<>();
    for (Balance balance : balances) {
      identities.add(balance.account().identity().toString());
    }
    return identities;
  }

  /** Moves the samples to the sketch; called every interval by one thread. */
  synchronized void drain() {
    List<Sample> samples = new ArrayList<>();
    buffer.drainTo(samples);
    for (Sample sample : samples) {
      held.addAndGet(-sample.size);
      for (String identity : identities(sample.decision.balances())) {
        if (identity.length() <= LONGEST) {
          current.update(identity, sample.weight);
        }
      }
    }
    full = false;
    long sum = calls.sum();
    every = (int) Math.min(Integer.MAX_VALUE, Math.max(1, (sum - counted) / SAMPLES + 1));
    counted = sum;
    if (++intervals % INTERVALS == 0) {
      before = current;
      current = new ItemsSketch<>(SKETCH_SIZE);
    }
  }

  /** The most frequent clients, the most frequent first. */
  synchronized List<Client> top(int most) {
    ItemsSketch<String> both = new ItemsSketch<>(SKETCH_SIZE);
    both.merge(before).merge(current);
    return top(both, most);
  }

  /** The most frequent items of a sketch. */
  static List<Client> top(ItemsSketch<String> sketch, int most) {
    List<Client> clients = new ArrayList<>();
    for (ItemsSketch.Row<String> row : sketch.getFrequentItems(0, ErrorType.NO_FALSE_NEGATIVES)) {
      if (clients.size() == most) {
        break;
      }
      clients.add(
          new Client(row.getItem(), row.getEstimate(), row.getUpperBound() - row.getLowerBound()));
    }
    return clients;
  }
}
