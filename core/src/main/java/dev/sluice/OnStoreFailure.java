package dev.sluice;

/** How a call is decided when the store does not answer in time. Ordered: the strictest is last. */
public enum OnStoreFailure {
  /** The call passes and is not counted. */
  ALLOW,
  /** This node counts alone, at the limits of the rule divided by the number of nodes. */
  LOCAL,
  /** The call is denied. */
  DENY
}
