package dev.sluice;

/**
 * What becomes of a call when the store gives no answer in time. Ordered: the strictest is last.
 */
public enum OnStoreFailure {
  /** It passes, unmetered. */
  ALLOW,
  /** This node counts by itself, at the rule's limits divided by the number of nodes. */
  LOCAL,
  /** It is refused. */
  DENY
}
