package dev.sluice.outage;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/** A circuit breaker for one Redis node. Thread-safe. */
public final class Breaker {
  /*
   * closed   every call goes to Redis
   * silent   no call goes to Redis: a deadline has passed and nothing at all was read from the node.
   *          Somebody else asks the node until it answers; then the breaker is trying
   * trying   one call at a time goes to Redis; the first that is answered closes the breaker.
   *          FAILURES_IN_A_ROW of any kind bring a closed breaker here
   *
   * The node is in trouble from the first failure until the first answer, also while it is closed.
   */
  private static final int FAILURES_IN_A_ROW = 5;

  private final AtomicInteger failures = new AtomicInteger();
  private final AtomicBoolean trying = new AtomicBoolean();
  private volatile boolean silent;
  private volatile String trouble = "";

  /** What a call may do. */
  public enum Pass {
    /** Ask Redis. */
    ASK,
    /** Ask Redis, as the only one for now. */
    TRY,
    /** Do without Redis. */
    NONE
  }

  public Pass enter() {
    if (silent) {
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
    silent = false;
    return failures.getAndSet(0) >= FAILURES_IN_A_ROW;
  }

  /**
   * Notes that the node did not answer a call; returns whether that opened the breaker.
   *
   * @param message what went wrong
   * @param nothingRead whether the node answered nobody at all while the call waited
   */
  public boolean failed(Pass pass, String message, boolean nothingRead) {
    trouble = message;
    int before = failures.getAndUpdate(n -> nothingRead ? FAILURES_IN_A_ROW : n + 1);
    boolean fellSilent = nothingRead && !silent;
    silent = silent || nothingRead;
    if (pass == Pass.TRY) {
      trying.set(false);
    }
    return fellSilent || before == FAILURES_IN_A_ROW - 1;
  }

  public boolean isSilent() {
    return silent;
  }

  /** Notes that a silent node has answered somebody: calls try it again, one at a time. */
  public void heard() {
    silent = false;
  }

  /** Whether the last call failed. */
  public boolean isTroubled() {
    return silent || failures.get() > 0;
  }

  /** What went wrong last. */
  public String trouble() {
    return trouble;
  }
}
