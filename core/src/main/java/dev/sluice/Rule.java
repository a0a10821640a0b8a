package dev.sluice;

import dev.sluice.internal.Bounds;
import dev.sluice.internal.InvalidValueException;
import dev.sluice.internal.Text;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * A named set of limits: which identities it counts, how much may pass, and the exceptions.
 *
 * <p>Rules are made by a {@linkplain #builder builder} or read from a file. Immutable.
 */
public final class Rule {
  /**
   * The value of {@code by} that counts all callers together, on one account. No facet has this
   * name.
   */
  public static final String EVERYONE = "everyone";

  /** What happens to a call that lacks a facet the rule counts by. */
  public enum Missing {
    /** The call is refused with an error. */
    ERROR,
    /** That identity is not counted. A call that lacks all identities of the rule passes. */
    SKIP
  }

  /**
   * An override: other terms for callers that have all the given facet values.
   *
   * @param when the facet values that a caller must have
   * @param until when the override ends, or null if it does not
   * @param terms the terms that replace those of the rule
   */
  public record Special(Map<String, String> when, @Nullable Instant until, Terms terms) {
    /** Requires at least one facet value. */
    public Special {
      Objects.requireNonNull(terms, "terms");
      when = Map.copyOf(when);
      if (when.isEmpty()) {
        throw InvalidValueException.of("override", "without 'when'", "the facets it is for");
      }
    }

    /**
     * Whether the override is still in force.
     *
     * @param clock read only if the override has an end
     */
    public boolean holdsAt(InstantSource clock) {
      return until == null || clock.instant().isBefore(until);
    }
  }

  private final String name;
  private final List<String> by;
  private final Terms terms;
  private final List<Special> overrides;
  private final List<Map<String, String>> exempt;
  private final boolean enforced;
  private final Missing missing;
  private final OnStoreFailure onStoreFailure;
  private final boolean colocate;

  private Rule(Builder builder) {
    name = builder.name;
    by = builder.by;
    terms = builder.terms();
    overrides = List.copyOf(builder.overrides);
    exempt = List.copyOf(builder.exempt);
    enforced = builder.enforced;
    missing = builder.missing;
    onStoreFailure = builder.onStoreFailure;
    colocate = builder.colocate;
    checkSize(by.size(), terms);
    for (Special special : overrides) {
      checkSize(by.size(), special.terms());
    }
    Set<Set<String>> seen = new HashSet<>();
    for (String identity : by) {
      if (!seen.add(facetsOf(identity))) {
        throw InvalidValueException.of("by", Text.quoted(identity) + " twice", "once");
      }
    }
  }

  /** The name. */
  public String name() {
    return name;
  }

  /**
   * The identities it counts: each is a facet, several facets joined by {@code +}, or {@link
   * #EVERYONE}. If empty, every facet of a call is counted on an account of its own.
   */
  public List<String> by() {
    return by;
  }

  /** The limits and the lock for callers without an override. */
  public Terms terms() {
    return terms;
  }

  /** Other terms for some callers. Of several that match, the first applies. */
  public List<Special> overrides() {
    return overrides;
  }

  /** This rule with more overrides, which come before its own. */
  public Rule withOverridesFirst(List<Special> first) {
    Builder builder = toBuilder();
    builder.overrides.addAll(0, first);
    return builder.build();
  }

  /**
   * Facet values of callers that are not counted. A client address may be a range, as in {@code
   * when} of an override.
   */
  public List<Map<String, String>> exempt() {
    return exempt;
  }

  /** Whether calls are denied. False in shadow mode, which counts and reports only. */
  public boolean enforced() {
    return enforced;
  }

  /** What happens to a call that lacks a facet. */
  public Missing missing() {
    return missing;
  }

  /** How calls are decided when the store does not answer. */
  public OnStoreFailure onStoreFailure() {
    return onStoreFailure;
  }

  /** Whether a Redis Cluster keeps all its accounts in one slot. */
  public boolean colocate() {
    return colocate;
  }

  /**
   * Throws if a call by this rule alone would pay more accounts or limits than a call may. Without
   * {@code by} a call pays one account for each facet, and the number of facets has a bound.
   */
  private static void checkSize(int identities, Terms terms) {
    if (identities > Bounds.MOST_ACCOUNTS) {
      throw InvalidValueException.of(
          "by", "%,d identities".formatted(identities), "at most " + Bounds.MOST_ACCOUNTS);
    }
    if (identities * terms.limits().size() > Bounds.MOST_LIMITS) {
      throw InvalidValueException.of(
          "by × limits",
          "%d × %d".formatted(identities, terms.limits().size()),
          "at most %d in all".formatted(Bounds.MOST_LIMITS));
    }
  }

  /**
   * The facets of one identity of {@code by}, sorted: {@code member+ip} is ip and member. Empty for
   * {@link #EVERYONE}.
   */
  public static SortedSet<String> facetsOf(String identity) {
    SortedSet<String> facets = new TreeSet<>();
    if (identity.equals(EVERYONE)) {
      return facets;
    }
    for (String facet : split(identity)) {
      if (facet.equals(EVERYONE)) {
        throw InvalidValueException.of(
            "by", Text.quoted(identity), "everyone by itself; it counts all callers together");
      }
      if (!facets.add(Identity.checkedName(facet))) {
        throw InvalidValueException.of("by", Text.quoted(identity), "each facet once");
      }
      if (facets.size() > Bounds.MOST_FACETS) {
        throw InvalidValueException.of(
            "by", Text.quoted(identity), "at most %d facets".formatted(Bounds.MOST_FACETS));
      }
    }
    return facets;
  }

  /** The facet names in {@code member+ip}, in the order in which they are written. */
  static List<String> split(String identity) {
    return List.of(identity.split("\\+", -1));
  }

  /** A builder for a rule. The rule needs at least one limit. */
  public static Builder builder(String name) {
    return new Builder(name);
  }

  /** A builder with the values of this rule. */
  public Builder toBuilder() {
    Builder builder = new Builder(name);
    builder.by = by;
    builder.limits.addAll(terms.limits());
    builder.lock = terms.lock();
    builder.countDenied = terms.countDenied();
    builder.overrides.addAll(overrides);
    builder.exempt.addAll(exempt);
    builder.enforced = enforced;
    builder.missing = missing;
    builder.onStoreFailure = onStoreFailure;
    builder.colocate = colocate;
    return builder;
  }

  /** Throws if no rule may have the name. */
  public static void checkName(String name) {
    boolean good = !name.isEmpty() && name.length() <= Bounds.LONGEST_RULE_NAME;
    for (int i = 0; good && i < name.length(); i++) {
      char c = name.charAt(i);
      good = (Character.isLetterOrDigit(c) && c < 0x7f) || c == '_' || c == '-' || c == '.';
    }
    if (!good) {
      throw InvalidValueException.of(
          "rule",
          Text.quoted(name),
          "letters, digits, '_', '-' or '.', %d at most".formatted(Bounds.LONGEST_RULE_NAME));
    }
  }

  @Override
  public boolean equals(@Nullable Object object) {
    return object instanceof Rule other
        && name.equals(other.name)
        && by.equals(other.by)
        && terms.equals(other.terms)
        && overrides.equals(other.overrides)
        && exempt.equals(other.exempt)
        && enforced == other.enforced
        && missing == other.missing
        && onStoreFailure == other.onStoreFailure
        && colocate == other.colocate;
  }

  @Override
  public int hashCode() {
    return Objects.hash(name, by, terms, overrides, exempt, enforced, missing, onStoreFailure);
  }

  @Override
  public String toString() {
    return name + ": " + terms + (by.isEmpty() ? "" : " by " + String.join(", ", by));
  }

  /** Builds a rule. Everything but the limits has a default. Not thread-safe. */
  public static final class Builder {
    private final String name;
    private List<String> by = List.of();
    private final List<Limit> limits = new ArrayList<>();
    private @Nullable Lock lock;
    private boolean countDenied;
    private final List<Special> overrides = new ArrayList<>();
    private final List<Map<String, String>> exempt = new ArrayList<>();
    private boolean enforced = true;
    private Missing missing = Missing.ERROR;
    private OnStoreFailure onStoreFailure = OnStoreFailure.LOCAL;
    private boolean colocate;

    private Builder(String name) {
      checkName(Objects.requireNonNull(name, "name"));
      this.name = name;
    }

    /**
     * The identities to count: {@code by("member", "ip", "member+promo")}; {@code by("everyone")}
     * counts all callers together.
     */
    public Builder by(String... identities) {
      return by(List.of(identities));
    }

    /** The identities to count; if empty, every facet of a call on an account of its own. */
    public Builder by(List<String> identities) {
      this.by = List.copyOf(identities);
      return this;
    }

    /** Adds a limit. A call must fit all limits. */
    public Builder limit(Limit limit) {
      limits.add(Objects.requireNonNull(limit, "limit"));
      return this;
    }

    /** Replaces the limits, the lock and whether denied calls count. */
    public Builder terms(Terms terms) {
      Objects.requireNonNull(terms, "terms");
      limits.clear();
      limits.addAll(terms.limits());
      lock = terms.lock();
      countDenied = terms.countDenied();
      return this;
    }

    /**
     * Locks a caller out when a limit first denies it. To lock with the call that uses up the
     * limit, pass {@code Lock.of(duration).onLimit()}.
     */
    public Builder lock(Duration duration) {
      return lock(Lock.of(duration));
    }

    /** Locks a caller out after it exceeded or used up a limit. */
    public Builder lock(Lock lock) {
      this.lock = Objects.requireNonNull(lock, "lock");
      return this;
    }

    /** Counts denied calls, too, so a client that keeps calling stays denied. */
    public Builder countDenied() {
      this.countDenied = true;
      return this;
    }

    /**
     * Sets other terms for some callers. Of several overrides that match, the first applies.
     *
     * @param when the facet values that a caller must have
     * @param until when the override ends, or null if it does not
     */
    public Builder override(Map<String, String> when, @Nullable Instant until, Terms terms) {
      overrides.add(new Special(when, until, terms));
      return this;
    }

    /** Does not count callers with these facet values. */
    public Builder exempt(Map<String, String> identity) {
      exempt.add(Map.copyOf(identity));
      return this;
    }

    /** Turns on shadow mode: calls are counted and reported, never denied. */
    public Builder shadow() {
      return enforced(false);
    }

    /** Whether calls are denied; true by default, false in shadow mode. */
    public Builder enforced(boolean enforced) {
      this.enforced = enforced;
      return this;
    }

    /** What happens to a call that lacks a facet; an error by default. */
    public Builder missing(Missing missing) {
      this.missing = Objects.requireNonNull(missing, "missing");
      return this;
    }

    /** How calls are decided when the store does not answer; by default each node counts alone. */
    public Builder onStoreFailure(OnStoreFailure onStoreFailure) {
      this.onStoreFailure = Objects.requireNonNull(onStoreFailure, "onStoreFailure");
      return this;
    }

    /** Keeps all accounts of the rule in one slot of a Redis Cluster. */
    public Builder colocate() {
      return colocate(true);
    }

    /** Whether a Redis Cluster keeps all accounts of the rule in one slot. */
    public Builder colocate(boolean colocate) {
      this.colocate = colocate;
      return this;
    }

    private Terms terms() {
      return new Terms(limits, lock, countDenied);
    }

    /**
     * Builds the rule.
     *
     * @throws IllegalArgumentException if its parts do not fit together
     */
    public Rule build() {
      try {
        return new Rule(this);
      } catch (InvalidValueException e) {
        throw e.in("rule '" + name + "'");
      }
    }
  }
}
