package dev.sluice;

/**
 * Receives every decision of a limiter, for metrics, logs and audits.
 *
 * <p>Called before the caller has its answer: of {@code decide} on the thread of the caller, of
 * {@code decideAsync} on the thread that completes the stage. Other calls may wait for that thread,
 * so return quickly. Exceptions are logged and change no decision.
 */
public interface LimiterListener {
  /**
   * A call was decided.
   *
   * @param rules the rules that decided it
   * @param nanos the time from the request to the decision
   */
  void decided(Rules rules, Call call, Decision decision, long nanos);

  /**
   * A call could not be decided: it names an unknown rule, lacks a facet, or the store failed.
   *
   * @param nanos the time until it failed
   */
  default void failed(Call call, Throwable error, long nanos) {}

  /** A settlement was answered; {@link Settled#done} is false if it changed nothing. */
  default void settled(Receipt receipt, Settled settled) {}
}
