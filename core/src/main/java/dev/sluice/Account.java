package dev.sluice;

import org.jspecify.annotations.Nullable;

/**
 * The name of an account: the state of one rule, all its limits and its lock, for one identity.
 *
 * @param colocated whether a Redis Cluster keeps it in one slot with all others of its rule
 */
public record Account(String rule, Identity identity, boolean colocated)
    implements Comparable<Account> {
  public Account(String rule, Identity identity) {
    this(rule, identity, false);
  }

  /*
   * Written out: stores compare accounts for every decision, and the equality that the JVM gives to a
   * record takes long to get as fast.
   */
  @Override
  public boolean equals(@Nullable Object object) {
    return object instanceof Account other
        && identity.equals(other.identity)
        && rule.equals(other.rule)
        && colocated == other.colocated;
  }

  @Override
  public int hashCode() {
    return 31 * rule.hashCode() + identity.hashCode();
  }

  @Override
  public int compareTo(Account other) {
    int byRule = rule.compareTo(other.rule);
    return byRule != 0 ? byRule : identity.compareTo(other.identity);
  }

  @Override
  public String toString() {
    return rule + ":" + identity;
  }
}
