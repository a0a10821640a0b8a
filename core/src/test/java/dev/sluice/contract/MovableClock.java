package dev.sluice.contract;

import dev.sluice.internal.Durations;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.atomic.AtomicLong;

/** A clock in whole microseconds that stands still until a test moves it, either way. */
public final class MovableClock implements InstantSource {
  private final AtomicLong micros;

  private MovableClock(long micros) {
    this.micros = new AtomicLong(micros);
  }

  public static MovableClock at(Instant instant) {
    return new MovableClock(ChronoUnit.MICROS.between(Instant.EPOCH, instant));
  }

  public long micros() {
    return micros.get();
  }

  @Override
  public Instant instant() {
    return Instant.EPOCH.plus(micros.get(), ChronoUnit.MICROS);
  }

  /** Moves the clock on, or back by a negative duration. */
  public void advance(Duration step) {
    micros.addAndGet(
        step.isNegative() ? -Durations.micros(step.negated()) : Durations.micros(step));
  }

  public void advanceMicros(long step) {
    micros.addAndGet(step);
  }

  public void set(Instant instant) {
    micros.set(ChronoUnit.MICROS.between(Instant.EPOCH, instant));
  }

  public void setMicros(long now) {
    micros.set(now);
  }

  @Override
  public String toString() {
    return instant().toString();
  }
}
