package dev.sluice;

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
