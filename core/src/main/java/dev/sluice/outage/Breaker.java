package dev.sluice.outage;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/** A circuit breaker for one Redis node. Thread-safe. */
public final class Breaker {
  /*
   * closed        every call goes to Redis
   * unresponsive  no call goes to Redis: a call timed out and nothing at all was read from the node.
   *               The node is pinged elsewhere; once it answers, the breaker is half open
   * half open     one call at a time goes to Redis; the first answer closes the breaker.
   *               FAILURES_IN_A_ROW of any kind lead from closed to half open
   *
   * The node is in trouble from the first failure until the first answer, also while the breaker is
   * closed.
   */
  private static final int FAILURES_IN_A_ROW = 5;

  private final AtomicInteger failures = new AtomicInteger();
  private final AtomicBoolean trying = new AtomicBoolean();
  private volatile boolean unresponsive;
  private volatile String trouble = "";

  /** What a call may do. */
  public enum Pass {
    /** Call Redis. */
    ASK,
    /** Call Redis, as the only call for now. */
    TRY,
    /** Decide without Redis. */
    NONE
  }

  /** Returns whether a call may go to Redis. */
  public Pass enter() {
    if (unresponsive) {
      return Pass.NONE;
    }
    if (failures.get() < FAILURES_IN_A_ROW) {
      return Pass.ASK;
    }
    return trying.compareAndSet(false, true) ? Pass.TRY : Pass.NONE;
  }

  /** Notes that Redis answered a call; returns whether that closed the breaker. */
  public boolean answered(Pass pass) {
    if (pass == Pass.TRY) {
      trying.set(false);
    }
    if (failures.get() == 0) {
      return false;
    }
    unresponsive = false;
    return failures.getAndSet(0) >= FAILURES_IN_A_ROW;
  }

  /**
   * Notes that the node did not answer a call; returns whether that opened the breaker.
   *
   * @param message what went wrong
   * @param nothingRead whether nothing at all was read from the node while the call waited
   */
  public boolean failed(Pass pass, String message, boolean nothingRead) {
    trouble = message;
    int before = failures.getAndUpdate(n -> nothingRead ? FAILURES_IN_A_ROW : n + 1);
    boolean stoppedAnswering = nothingRead && !unresponsive;
    unresponsive = unresponsive || nothingRead;
    if (pass == Pass.TRY) {
      trying.set(false);
    }
    return stoppedAnswering || before == FAILURES_IN_A_ROW - 1;
  }

  /** Whether the node answers nothing at all. */
  public boolean isUnresponsive() {
    return unresponsive;
  }

  /** Notes that an unresponsive node answered a ping: calls try it again, one at a time. */
  public void responded() {
    unresponsive = false;
  }

  /** Whether the last call failed. */
  public boolean isTroubled() {
    return unresponsive || failures.get() > 0;
  }

  /** What went wrong last. */
  public String trouble() {
    return trouble;
  }
}
