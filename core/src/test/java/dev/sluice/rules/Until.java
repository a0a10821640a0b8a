package dev.sluice.rules;

import static org.assertj.core.api.Assertions.fail;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits for what another thread or the file system does in its own time: no clock moves those. */
public final class Until {
  private Until() {}

  /** Returns how long it took; fails if it took longer than allowed. */
  public static Duration within(Duration atMost, String what, BooleanSupplier done) {
    long start = System.nanoTime();
    while (!done.getAsBoolean()) {
      if (System.nanoTime() - start > atMost.toNanos()) {
        fail("%s: not within %s", what, atMost);
      }
      LockSupport.parkNanos(200_000);
    }
    return Duration.ofNanos(System.nanoTime() - start);
  }
}
