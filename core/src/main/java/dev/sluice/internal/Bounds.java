package dev.sluice.internal;

/**
 * The bounds of calls and of what rules are made of. A call over a bound is refused before anything
 * is looked up or counted; a rule over a bound is not built. Bounds of a single kind of limit are
 * in {@code Limit}.
 */
public final class Bounds {
  /** Facets of the identity of a call. */
  public static final int MOST_FACETS = 16;

  /** Characters of a facet's name. */
  public static final int LONGEST_FACET_NAME = 64;

  /** Characters of a facet's value, before it is hashed. */
  public static final int LONGEST_FACET_VALUE = 1_024;

  /** Rules that a call names. */
  public static final int MOST_RULES = 32;

  /** Characters of a rule's name. */
  public static final int LONGEST_RULE_NAME = 100;

  /** Durations in the list of a growing lock. */
  public static final int MOST_LOCK_DURATIONS = 64;

  /** Accounts that a call charges, over all of its rules. */
  public static final int MOST_ACCOUNTS = 64;

  /** Limits that a call has to meet, over all of its accounts. */
  public static final int MOST_LIMITS = 256;

  /** Characters of a call's id. */
  public static final int LONGEST_ID = 128;

  /** Characters of the reason for a lock. */
  public static final int LONGEST_REASON = 256;

  private Bounds() {}

  /** Throws if a call names more rules than it may. */
  public static void checkRuleCount(int count) {
    if (count > MOST_RULES) {
      throw InvalidValueException.of(
          "rules", "%,d".formatted(count), "at most %d".formatted(MOST_RULES));
    }
  }

  /** Throws if the id of a call is empty, too long or not visible ASCII. */
  public static void checkId(String id) {
    boolean good = !id.isEmpty() && id.length() <= LONGEST_ID;
    for (int i = 0; good && i < id.length(); i++) {
      good = id.charAt(i) > ' ' && id.charAt(i) < 0x7f;
    }
    if (!good) {
      throw InvalidValueException.of(
          "id", Text.quoted(id), "1 to %d visible ASCII characters".formatted(LONGEST_ID));
    }
  }
}
