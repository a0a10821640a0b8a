package dev.sluice.internal;

/** Arithmetic on whole numbers. */
public final class WholeNumbers {
  private WholeNumbers() {}

  /** A quotient, rounded up; both numbers at least 0. */
  public static long ceilDiv(long a, long b) {
    return a / b + (a % b == 0 ? 0 : 1);
  }
}
