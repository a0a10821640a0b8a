package dev.sluice.rules;

import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.internal.Bounds;
import dev.sluice.internal.InvalidValueException;
import dev.sluice.internal.Percent;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * An override that an operator made at run time, as nodes share it.
 *
 * @param id its name; a newer one replaces the one of the same id
 * @param rule the name of the rule
 * @param created when it was made; of several that match, the newest applies
 * @param by who made it
 * @param reason why, for other operators
 * @param text the override as in a rule file, as JSON: {@code {"when": {"login": "ann"}, "limit":
 *     "100 per 1m"}}
 */
public record KeptOverride(
    String id, String rule, Instant created, String by, String reason, String text) {
  /** The most overrides that are kept. */
  public static final int MOST = 10_000;

  /** The most characters of the text. */
  public static final int LONGEST_TEXT = 16_384;

  private static final Instant LATEST = Instant.parse("9999-12-31T23:59:59Z");

  /** Checks the bounds of all texts. */
  public KeptOverride {
    check("id", id, 64);
    check("rule", rule, Bounds.LONGEST_RULE_NAME);
    check("by", by, 256);
    check("reason", reason, Bounds.LONGEST_REASON);
    check("override", text, LONGEST_TEXT);
    if (!isId(id)) {
      throw InvalidValueException.of("id", "'" + id + "'", "letters, digits, '-' and '_'");
    }
  }

  private static void check(String name, String value, int longest) {
    if (value.length() > longest) {
      throw InvalidValueException.of(
          name, "%,d characters".formatted(value.length()), "at most %,d".formatted(longest));
    }
  }

  /**
   * The override as part of its rule.
   *
   * @throws IllegalArgumentException if it does not fit the rule any more
   */
  public Rule.Special in(Rule itsRule, Rules rules) {
    Rule.Special special = RuleFiles.parseOverride("override " + id, text, itsRule, rules);
    // By itself: with thousands of others, checking each would take long.
    Rule alone =
        Rule.builder(itsRule.name())
            .by(itsRule.by())
            .terms(itsRule.terms())
            .override(special.when(), special.until(), special.terms())
            .build();
    Rules unused = Rules.open(List.of(alone), rules.facets().values());
    return special;
  }

  /** The form in which it is stored. */
  public String stored() {
    return Stream.of(Long.toString(created.toEpochMilli()), rule, by, reason)
            .map(word -> word.isEmpty() ? "-" : Percent.encode(word))
            .reduce((a, b) -> a + " " + b)
            .orElseThrow()
        + "\n"
        + text;
  }

  /** Something that is stored among the overrides and was not written by Sluice. */
  public static KeptOverride foreign(String id) {
    return new KeptOverride(id, "", Instant.EPOCH, "", "", "");
  }

  /** Whether it is not an override that Sluice wrote; such a one has no effect. */
  public boolean isForeign() {
    return rule.isEmpty();
  }

  /** Whether a text can be the id of an override. */
  public static boolean isId(String text) {
    return text.matches("[A-Za-z0-9_-]{1,64}");
  }

  /** Reads the stored form; empty if it is something else. */
  public static Optional<KeptOverride> read(String id, String stored) {
    int end = stored.indexOf('\n');
    List<String> words = end < 0 ? List.of() : List.of(stored.substring(0, end).split(" ", -1));
    try {
      return words.size() == 4
          ? Optional.of(
              new KeptOverride(
                  id,
                  decode(words.get(1)),
                  created(words.get(0)),
                  decode(words.get(2)),
                  decode(words.get(3)),
                  stored.substring(end + 1)))
          : Optional.empty();
    } catch (IllegalArgumentException notOurs) {
      return Optional.empty();
    }
  }

  private static Instant created(String millis) {
    Instant created = Instant.ofEpochMilli(Long.parseLong(millis));
    if (created.isBefore(Instant.EPOCH) || created.isAfter(LATEST)) {
      throw InvalidValueException.of("created", "'" + millis + "'", "a time until 9999");
    }
    return created;
  }

  private static String decode(String word) {
    return word.equals("-") ? "" : Percent.decode(word);
  }
}
