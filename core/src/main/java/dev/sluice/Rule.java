package dev.sluice;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * A named policy: by which facets it counts, its terms, and what happens when the store is silent.
 *
 * @param by the identities it counts, each a facet or several joined by {@code +}, or {@link
 *     #EVERYONE}; empty for every facet of the call on its own account
 * @param overrides other terms for some identities; the first that matches holds
 * @param exempt identities that are not counted at all; as in {@code when} of an override, a client
 *     address may be a range
 * @param enforced false in shadow mode: counted and reported, never in the way
 * @param colocate whether all its accounts lie in one slot of a Redis Cluster
 */
public record Rule(
    String name,
    List<String> by,
    Terms terms,
    List<Special> overrides,
    List<Map<String, String>> exempt,
    boolean enforced,
    Missing missing,
    OnStoreFailure onStoreFailure,
    boolean colocate) {

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
        throw new IllegalArgumentException(
            "override: without 'when' (expected: the facets it is for)");
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

  public Rule {
    checkName(name);
    by = List.copyOf(by);
    overrides = List.copyOf(overrides);
    exempt = exempt.stream().map(Map::copyOf).toList();
    checkSize(by.size(), terms);
    for (Special special : overrides) {
      checkSize(by.size(), special.terms());
    }
    Set<Set<String>> seen = new HashSet<>();
    for (String identity : by) {
      if (!seen.add(facetsOf(identity))) {
        throw new IllegalArgumentException(
            "rule '%s': by names %s twice (expected: once)".formatted(name, identity));
      }
    }
  }

  /** Refuses a rule that no call could pay; without {@code by} the facets of a call are few. */
  private static void checkSize(int identities, Terms terms) {
    if (identities > Bounds.MOST_ACCOUNTS) {
      throw new IllegalArgumentException(
          "by: %,d identities (expected: at most %d)".formatted(identities, Bounds.MOST_ACCOUNTS));
    }
    if (identities * terms.limits().size() > Bounds.MOST_LIMITS) {
      throw new IllegalArgumentException(
          "by × limits: %d × %d (expected: at most %d in all)"
              .formatted(identities, terms.limits().size(), Bounds.MOST_LIMITS));
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
    for (String facet : identity.split("\\+", -1)) {
      if (facet.equals(EVERYONE)) {
        throw new IllegalArgumentException(
            "by: %s (expected: everyone by itself; it counts all callers together)"
                .formatted(Text.quoted(identity)));
      }
      if (!facets.add(Identity.checkedName(facet))) {
        throw new IllegalArgumentException(
            "by: %s (expected: each facet once)".formatted(Text.quoted(identity)));
      }
      if (facets.size() > Bounds.MOST_FACETS) {
        throw new IllegalArgumentException(
            "by: %s (expected: at most %d facets)"
                .formatted(Text.quoted(identity), Bounds.MOST_FACETS));
      }
    }
    return facets;
  }

  public static Builder builder(String name) {
    return new Builder(name);
  }

  /** Refuses a name that no rule may have. */
  public static void checkName(String name) {
    boolean good = !name.isEmpty() && name.length() <= Bounds.LONGEST_RULE_NAME;
    for (int i = 0; good && i < name.length(); i++) {
      char c = name.charAt(i);
      good = (Character.isLetterOrDigit(c) && c < 0x7f) || c == '_' || c == '-' || c == '.';
    }
    if (!good) {
      throw new IllegalArgumentException(
          "rule: %s (expected: letters, digits, '_', '-' or '.', %d at most)"
              .formatted(Text.quoted(name), Bounds.LONGEST_RULE_NAME));
    }
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
      this.name = name;
    }

    /**
     * The identities to count: {@code by("member", "ip", "member+promo")}; {@code by("everyone")}
     * counts all callers together.
     */
    public Builder by(String... identities) {
      this.by = Arrays.asList(identities);
      return this;
    }

    /** One more limit; all of them hold at once. */
    public Builder limit(Limit limit) {
      limits.add(limit);
      return this;
    }

    /**
     * A lock that begins with the first call that a limit denies; {@code
     * lock(Lock.of(duration).onLimit())} begins with the call that uses up a limit.
     */
    public Builder lock(Duration duration) {
      this.lock = Lock.of(duration);
      return this;
    }

    public Builder lock(Lock lock) {
      this.lock = lock;
      return this;
    }

    public Builder countDenied() {
      this.countDenied = true;
      return this;
    }

    public Builder override(Map<String, String> when, @Nullable Instant until, Terms terms) {
      overrides.add(new Special(when, until, terms));
      return this;
    }

    public Builder exempt(Map<String, String> identity) {
      exempt.add(identity);
      return this;
    }

    /** Counted and reported, never in the way. */
    public Builder shadow() {
      this.enforced = false;
      return this;
    }

    public Builder missing(Missing missing) {
      this.missing = missing;
      return this;
    }

    public Builder onStoreFailure(OnStoreFailure onStoreFailure) {
      this.onStoreFailure = onStoreFailure;
      return this;
    }

    public Builder colocate() {
      this.colocate = true;
      return this;
    }

    public Rule build() {
      try {
        Terms terms = new Terms(limits, lock, countDenied);
        return new Rule(
            name, by, terms, overrides, exempt, enforced, missing, onStoreFailure, colocate);
      } catch (IllegalArgumentException e) {
        String message = String.valueOf(e.getMessage());
        throw message.startsWith("rule")
            ? e
            : new IllegalArgumentException("rule '" + name + "': " + message, e);
      }
    }
  }
}
