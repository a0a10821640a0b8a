package dev.sluice;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The name of an account. An account is the state of one rule (its limits and its lock) for one
 * identity.
 *
 * @param rule the name of the rule
 * @param identity whom it counts, reduced to the facets that the rule counts by
 * @param colocated whether a Redis Cluster keeps all accounts of the rule in one slot
 */
public record Account(String rule, Identity identity, boolean colocated)
    implements Comparable<Account> {
  /** An account of a rule that is not colocated. */
  public Account(String rule, Identity identity) {
    this(Objects.requireNonNull(rule, "rule"), Objects.requireNonNull(identity, "identity"), false);
  }

  /*
   * Written out because stores compare accounts for every decision, and the equality that a record
   * generates takes long to be compiled well.
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
