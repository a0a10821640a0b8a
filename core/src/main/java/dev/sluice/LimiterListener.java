package dev.sluice;

/**
 * Is told what a limiter decided, for metrics, logs and audits.
 *
 * <p>Called on the thread that finishes the call, which may be one that other calls wait for: take
 * numbers down and return. What it throws is logged and changes no decision.
 */
public interface LimiterListener {
  /**
   * A call was decided.
   *
   * @param rules the rules by which it was decided
   * @param nanos how long that took, from the question to the decision
   */
  void decided(Rules rules, Call call, Decision decision, long nanos);

  /**
   * A call had no decision: it names an unknown rule, lacks a facet, or the store failed.
   *
   * @param nanos how long it took to find out
   */
  default void failed(Call call, Throwable error, long nanos) {}

  /** A receipt was settled, or had been before. */
  default void settled(Receipt receipt, Settled settled) {}
}
