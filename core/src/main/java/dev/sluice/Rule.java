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
 * A named set of limits: whom it counts, how much may pass, and for whom other limits hold.
 *
 * <p>Rules are made by a {@linkplain #builder builder} or read from a file, and never change.
 */
public final class Rule {
  /** In {@code by}: all callers together, on one account. No facet has this name. */
  public static final String EVERYONE = "everyone";

  /** What becomes of a call that lacks a facet the rule counts by. */
  public enum Missing {
    /** The call is refused with an error. */
    ERROR,
    /** That identity is not counted; a call that has none of them passes. */
    SKIP
  }

  /** Terms of their own for the identities that have all the given facet values. */
  public record Special(Map<String, String> when, @Nullable Instant until, Terms terms) {
    public Special {
      when = Map.copyOf(when);
      if (when.isEmpty()) {
        throw InvalidValueException.of("override", "without 'when'", "the facets it is for");
      }
    }

    /**
     * Whether it has not ended.
     *
     * @param clock read only if it has an end
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

  /** Its name. */
  public String name() {
    return name;
  }

  /**
   * The identities it counts, each a facet or several joined by {@code +}, or {@link #EVERYONE};
   * empty for every facet of the call on its own account.
   */
  public List<String> by() {
    return by;
  }

  /** The limits and the lock that hold for everybody without an override. */
  public Terms terms() {
    return terms;
  }

  /** Other terms for some identities; the first that matches holds. */
  public List<Special> overrides() {
    return overrides;
  }

  /**
   * Identities that are not counted at all; as in {@code when} of an override, a client address may
   * be a range.
   */
  public List<Map<String, String>> exempt() {
    return exempt;
  }

  /** False in shadow mode: counted and reported, never refused. */
  public boolean enforced() {
    return enforced;
  }

  /** What becomes of a call that lacks a facet. */
  public Missing missing() {
    return missing;
  }

  /** What decides when the store does not answer. */
  public OnStoreFailure onStoreFailure() {
    return onStoreFailure;
  }

  /** Whether all its accounts lie in one slot of a Redis Cluster. */
  public boolean colocate() {
    return colocate;
  }

  /** Refuses a rule that no call could pay; without {@code by} the facets of a call are few. */
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
   * The facets of one identity of {@code by}, sorted: {@code member+ip} is ip and member; none for
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

  /** The names in {@code member+ip}, as they are written. */
  static List<String> split(String identity) {
    return List.of(identity.split("\\+", -1));
  }

  /** A new rule of a name; it needs at least one limit. */
  public static Builder builder(String name) {
    return new Builder(name);
  }

  /** A rule like this one, to be changed. */
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

  /** Refuses a name that no rule may have. */
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

  /** Gathers the parts of a rule; everything but the limits has a default. */
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

    /** The identities to count; none for every facet of a call. */
    public Builder by(List<String> identities) {
      this.by = List.copyOf(identities);
      return this;
    }

    /** One more limit; all of them hold at once. */
    public Builder limit(Limit limit) {
      limits.add(Objects.requireNonNull(limit, "limit"));
      return this;
    }

    /** Limits, lock and whether denied calls count, in place of those set before. */
    public Builder terms(Terms terms) {
      limits.clear();
      limits.addAll(terms.limits());
      lock = terms.lock();
      countDenied = terms.countDenied();
      return this;
    }

    /**
     * A lock that begins with the first call that a limit denies; {@code
     * lock(Lock.of(duration).onLimit())} begins with the call that uses up a limit.
     */
    public Builder lock(Duration duration) {
      return lock(Lock.of(duration));
    }

    /** How long callers are locked out who used up a limit. */
    public Builder lock(Lock lock) {
      this.lock = Objects.requireNonNull(lock, "lock");
      return this;
    }

    /** Denied calls count, too: a client that goes on calling stays out. */
    public Builder countDenied() {
      this.countDenied = true;
      return this;
    }

    /**
     * Other terms for some callers; of several that match, the first holds.
     *
     * @param when the facet values that a caller must have
     * @param until when the override ends, or null for one without an end
     */
    public Builder override(Map<String, String> when, @Nullable Instant until, Terms terms) {
      overrides.add(new Special(when, until, terms));
      return this;
    }

    /** Callers with these facet values are not counted. */
    public Builder exempt(Map<String, String> identity) {
      exempt.add(Map.copyOf(identity));
      return this;
    }

    /** Shadow mode: counted and reported, never refused. */
    public Builder shadow() {
      return enforced(false);
    }

    /** Whether calls are refused; by default they are. */
    public Builder enforced(boolean enforced) {
      this.enforced = enforced;
      return this;
    }

    /** What becomes of a call that lacks a facet; by default that is an error. */
    public Builder missing(Missing missing) {
      this.missing = Objects.requireNonNull(missing, "missing");
      return this;
    }

    /** What decides when the store does not answer; by default each node counts by itself. */
    public Builder onStoreFailure(OnStoreFailure onStoreFailure) {
      this.onStoreFailure = Objects.requireNonNull(onStoreFailure, "onStoreFailure");
      return this;
    }

    /** Keeps all accounts of the rule in one slot of a Redis Cluster. */
    public Builder colocate() {
      return colocate(true);
    }

    /** Whether all accounts of the rule lie in one slot of a Redis Cluster. */
    public Builder colocate(boolean colocate) {
      this.colocate = colocate;
      return this;
    }

    private Terms terms() {
      return new Terms(limits, lock, countDenied);
    }

    /** The rule; an {@link IllegalArgumentException} if its parts do not fit together. */
    public Rule build() {
      try {
        return new Rule(this);
      } catch (InvalidValueException e) {
        throw e.in("rule '" + name + "'");
      }
    }
  }
}
