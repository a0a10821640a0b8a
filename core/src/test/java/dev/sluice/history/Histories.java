package dev.sluice.history;

import dev.sluice.Store;
import dev.sluice.contract.MovableClock;
import dev.sluice.contract.Scene;
import java.util.SplittableRandom;
import java.util.function.Function;

/**
 * Many random histories, one after another, each checked against the model and the promises.
 *
 * <p>{@code -Dsluice.seed=…} plays that one alone; {@code -Dsluice.histories=…} says how many.
 */
public final class Histories {
  private static final int WITHOUT_DENIALS = 8;

  private final Function<MovableClock, Store> open;

  /**
   * Histories for one kind of store.
   *
   * @param open gives an empty store on a clock; it is closed after its history
   */
  public Histories(Function<MovableClock, Store> open) {
    this.open = open;
  }

  /** Plays so many histories unless the system properties say otherwise; gives their number. */
  public long play(long usually) {
    Long only = Long.getLong("sluice.seed");
    if (only != null) {
      System.out.printf("Playing the history of seed %d.%n", only);
      play(only, true);
      return 1;
    }
    long count = Long.getLong("sluice.histories", usually);
    long first = new SplittableRandom().nextLong();
    System.out.printf("Playing %,d histories from seed %d on.%n", count, first);
    for (long i = 0; i < count; i++) {
      play(first + i, i % WITHOUT_DENIALS == 0);
    }
    return count;
  }

  private void play(long seed, boolean thorough) {
    History history = History.of(seed);
    try {
      with(
          (store, clock) -> {
            Promises.check(history, Replay.check(history, store, clock));
          });
      if (thorough) {
        with((store, clock) -> Promises.checkWithoutDenials(history, store, clock));
        with((store, clock) -> Promises.checkIsolation(history, store, clock));
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
