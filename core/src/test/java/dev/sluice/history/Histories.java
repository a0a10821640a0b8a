package dev.sluice.history;

import dev.sluice.contract.MovableClock;
import dev.sluice.contract.Scene;
import dev.sluice.store.Store;
import java.lang.management.ManagementFactory;
import java.util.function.Function;
import java.util.function.LongConsumer;

/**
 * Plays many random histories and checks each against the model and the promises.
 *
 * <p>{@code -Dsluice.seed=…} plays one seed only. {@code -Dsluice.histories=…} sets how many, and
 * {@code -Dsluice.from=…} the first seed. The default seeds are fixed, so that a run can be
 * repeated.
 */
public final class Histories {
  private static final int THOROUGH = 8;

  private final Function<MovableClock, Store> open;

  /**
   * Histories for one kind of store.
   *
   * @param open gives an empty store on a clock; it is closed after its history
   */
  public Histories(Function<MovableClock, Store> open) {
    this.open = open;
  }

  /** Plays some histories, unless the system properties say otherwise; returns their number. */
  public long play(long usually) {
    return repeat("histories", usually, this::playOne);
  }

  /** Plays some histories under clocks that step, jump and toggle; returns their number. */
  public long playOnWildClocks(long usually) {
    return repeat("histories on wild clocks", usually, this::playOnWildClock);
  }

  private static long repeat(String what, long usually, LongConsumer history) {
    Long only = Long.getLong("sluice.seed");
    long count = only != null ? 1 : Long.getLong("sluice.histories", usually);
    long first = only != null ? only : Long.getLong("sluice.from", 1_000_000);
    System.out.printf("Playing %,d %s from seed %d on.%n", count, what, first);
    long start = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    for (long i = 0; i < count; i++) {
      history.accept(first + i);
    }
    long nanos = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - start;
    System.out.printf("Played %,d %s in %,d ms of CPU time.%n", count, what, nanos / 1_000_000);
    return count;
  }

  void playOnWildClock(long seed) {
    with((store, clock) -> new WildClock(seed, store, clock).play());
  }

  /** Plays the history of a seed; some also without the denied calls, and one world alone. */
  void playOne(long seed) {
    playOne(seed, Long.getLong("sluice.seed") != null || seed % THOROUGH == 0);
  }

  private void playOne(long seed, boolean thorough) {
    History history = History.of(seed);
    try {
      with(
          (store, clock) -> {
            Promises.check(history, Replay.check(history, store, clock));
          });
      if (thorough) {
        with((store, clock) -> Promises.checkWithoutDenials(history, store, clock));
        with((store, clock) -> Promises.checkIsolation(history, store, clock));
        with((store, clock) -> Promises.checkQuota(history, store, clock));
      }
    } catch (RuntimeException e) {
      throw new AssertionError("seed " + seed, e);
    }
  }

  private interface Scenario {
    void play(Store store, MovableClock clock);
  }

  private void with(Scenario scenario) {
    MovableClock clock = MovableClock.at(Scene.START);
    try (Store store = open.apply(clock)) {
      scenario.play(store, clock);
    }
  }
}
