package dev.sluice.rules;

import dev.sluice.Facet;
import dev.sluice.Limit;
import dev.sluice.Lock;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.Terms;
import dev.sluice.UnknownRuleException;
import dev.sluice.internal.Durations;
import dev.sluice.internal.Text;
import java.math.BigInteger;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** Describes rules in plain language: a table of all, or sentences about one. Pure functions. */
public final class RuleWords {
  private RuleWords() {}

  /**
   * A table with a line for each limit of each rule, below a header line.
   *
   * @param clock decides which overrides have ended
   */
  public static List<String> table(Rules rules, InstantSource clock) {
    List<List<String>> rows = new ArrayList<>();
    rows.add(List.of("RULE", "COUNTS", "MAY PASS", "OTHERWISE"));
    for (Rule rule : rules.all()) {
      rows.addAll(rows(rules, rule, clock));
    }
    return aligned(rows);
  }

  /**
   * Explains what a rule allows and denies, with the worst case; one sentence per line.
   *
   * @param clock decides which overrides have ended
   */
  public static List<String> explain(Rules rules, String name, InstantSource clock) {
    Rule rule = rules.find(name);
    if (rule == null) {
      throw new UnknownRuleException(name, rules.all().stream().map(Rule::name).toList());
    }
    List<String> lines = new ArrayList<>();
    lines.add(whoIsCounted(rule));
    lines.addAll(normalized(rules, rule));
    lines.addAll(terms(rule.terms(), rule.enforced()));
    for (Rule.Special special : rule.overrides()) {
      lines.add("");
      if (special.holdsAt(clock)) {
        lines.add(
            "For %s%s, other terms hold on the same account; what was used stays used:"
                .formatted(shown(rules, special.when()), until(special)));
        lines.addAll(terms(special.terms(), rule.enforced()));
      } else {
        lines.add(
            "For %s other terms held until %s. That is over: they are counted like everybody."
                .formatted(shown(rules, special.when()), special.until()));
      }
    }
    lines.add("");
    rule.exempt()
        .forEach(who -> lines.add("A call of %s is not counted.".formatted(shown(rules, who))));
    lines.addAll(missing(rule));
    lines.add(outage(rule));
    if (rule.colocate()) {
      lines.add("All its accounts lie in one slot of a Redis Cluster, so it is atomic there, too.");
    }
    return lines;
  }

  // ---- The table ------------------------------------------------------------------------------

  private static List<List<String>> rows(Rules rules, Rule rule, InstantSource clock) {
    List<String> passes = new ArrayList<>();
    rule.terms().limits().forEach(limit -> passes.add(brief(limit)));
    for (Rule.Special special : rule.overrides()) {
      passes.add(
          "%s%s: %s"
              .formatted(
                  shown(rules, special.when()),
                  until(special),
                  special.holdsAt(clock) ? special.terms() : "over"));
    }
    rule.exempt().forEach(who -> passes.add(shown(rules, who) + ": everything"));
    List<String> otherwise = otherwise(rule);
    List<List<String>> rows = new ArrayList<>();
    for (int i = 0; i < Math.max(passes.size(), otherwise.size()); i++) {
      rows.add(
          List.of(
              i == 0 ? rule.name() : "",
              i == 0 ? by(rule) : "",
              i < passes.size() ? passes.get(i) : "",
              i < otherwise.size() ? otherwise.get(i) : ""));
    }
    return rows;
  }

  private static String by(Rule rule) {
    return rule.by().isEmpty() ? "every facet" : String.join(", ", rule.by());
  }

  private static String brief(Limit limit) {
    if (limit instanceof Limit.FixedWindow fixed) {
      return "%d in each %s".formatted(fixed.limit(), fixed.cycle());
    }
    if (limit instanceof Limit.SlidingWindow sliding) {
      return "%d in any %s, each back up to %s late"
          .formatted(sliding.limit(), format(sliding.window()), format(sliding.precision()));
    }
    if (limit instanceof Limit.SlidingLog sliding) {
      return "%d in any %s".formatted(sliding.limit(), format(sliding.window()));
    }
    return limit.toString();
  }

  private static List<String> otherwise(Rule rule) {
    List<String> notes = new ArrayList<>();
    Lock lock = rule.terms().lock();
    if (!rule.enforced()) {
      notes.add("reported only (shadow)");
    } else {
      notes.add(lock == null ? "denied" : "locked for " + lock);
    }
    if (rule.terms().countDenied()) {
      notes.add("denied calls count");
    }
    switch (rule.onStoreFailure()) {
      case ALLOW -> notes.add("in an outage: passes uncounted");
      case LOCAL -> {}
      case DENY -> notes.add("in an outage: denied");
    }
    return notes;
  }

  private static List<String> aligned(List<List<String>> rows) {
    int columns = rows.get(0).size();
    int[] widths = new int[columns];
    for (List<String> row : rows) {
      for (int i = 0; i < columns; i++) {
        widths[i] = Math.max(widths[i], row.get(i).length());
      }
    }
    List<String> lines = new ArrayList<>();
    for (List<String> row : rows) {
      StringBuilder line = new StringBuilder();
      for (int i = 0; i < columns; i++) {
        line.append(row.get(i)).append(" ".repeat(widths[i] - row.get(i).length() + 2));
      }
      lines.add(line.toString().stripTrailing());
    }
    return lines;
  }

  // ---- The sentences --------------------------------------------------------------------------

  private static String whoIsCounted(Rule rule) {
    if (rule.by().isEmpty()) {
      return rule.name() + " counts each facet of the caller on an account of its own.";
    }
    String each =
        rule.by().stream()
            .map(
                identity ->
                    identity.equals(Rule.EVERYONE)
                        ? "all callers together"
                        : identity.contains("+")
                            ? "each combination of " + identity.replace("+", " and ")
                            : "each " + identity)
            .collect(Collectors.joining(" and "));
    if (rule.by().equals(List.of(Rule.EVERYONE))) {
      return "%s counts %s on one account.".formatted(rule.name(), each);
    }
    return "%s counts %s on an account of its own.%s"
        .formatted(
            rule.name(), each, rule.by().size() > 1 ? " A call passes if all have room." : "");
  }

  private static List<String> normalized(Rules rules, Rule rule) {
    Set<String> counted = new TreeSet<>();
    rule.by().forEach(identity -> counted.addAll(Rule.facetsOf(identity)));
    return rules.facets().values().stream()
        .filter(facet -> rule.by().isEmpty() || counted.contains(facet.name()))
        .filter(facet -> !facet.normalize().isEmpty())
        .map(RuleWords::normalized)
        .toList();
  }

  private static String normalized(Facet facet) {
    String steps =
        facet.normalize().stream()
            .map(step -> step.name().toLowerCase(Locale.ROOT))
            .collect(Collectors.joining(", "));
    return "Values of %s are normalized first (%s); those that are equal then are one account."
        .formatted(facet.name(), steps);
  }

  private static List<String> terms(Terms terms, boolean enforced) {
    List<String> lines = new ArrayList<>();
    terms.limits().forEach(limit -> lines.addAll(sentences(limit)));
    if (terms.limits().size() > 1) {
      lines.add("All %d limits hold at once.".formatted(terms.limits().size()));
    }
    long most = terms.limits().stream().mapToLong(Limit::quota).min().orElse(0);
    lines.add("A single call that costs more than %d never passes.".formatted(most));
    lines.add(
        terms.countDenied()
            ? "A denied call counts as well: a client that keeps retrying stays out."
            : "A denied call costs nothing.");
    Lock lock = terms.lock();
    if (lock != null) {
      lines.addAll(sentences(lock));
    }
    if (!enforced) {
      lines.add("Shadow mode: it is counted and reported, but no call is denied.");
    }
    return lines;
  }

  private static List<String> sentences(Limit limit) {
    if (limit instanceof Limit.SlidingLog log) {
      String window = format(log.window());
      return List.of(
          "At most %d pass in any %s; each comes back exactly %s after it was taken."
              .formatted(log.limit(), window, window),
          "Worst case in any %s: %d.".formatted(window, log.limit()));
    }
    if (limit instanceof Limit.SlidingWindow sliding) {
      String window = format(sliding.window());
      String precision = format(sliding.precision());
      return List.of(
          "At most %d pass in any %s; each comes back %s after it was taken, or up to %s later."
              .formatted(sliding.limit(), window, window, precision),
          "Worst case in any %s: %d.".formatted(window, sliding.limit()));
    }
    if (limit instanceof Limit.FixedWindow fixed) {
      String twice = times(fixed.limit(), 2);
      return List.of(
          "At most %d pass in each %s; all come back together when the next begins."
              .formatted(fixed.limit(), fixed.cycle()),
          "Worst case: %s, twice the limit, within moments around the edge between two rounds."
              .formatted(twice),
          "A sliding-window of the same size has no such edge.");
    }
    return sentences((Limit.TokenBucket) limit);
  }

  private static List<String> sentences(Limit.TokenBucket bucket) {
    String period = format(bucket.period());
    BigInteger inPeriod =
        BigInteger.valueOf(bucket.capacity()).add(BigInteger.valueOf(bucket.refill()));
    List<String> lines = new ArrayList<>();
    lines.add(
        "Up to %d pass at once; %d come back every %s, steadily, until %d are there."
            .formatted(bucket.capacity(), bucket.refill(), period, bucket.capacity()));
    lines.add("An empty bucket is full again after %s.".formatted(format(bucket.window())));
    lines.add(
        "Worst case in any time t: %d + %d × t / %s; in any %s: %s."
            .formatted(bucket.capacity(), bucket.refill(), period, period, inPeriod));
    return lines;
  }

  private static List<String> sentences(Lock lock) {
    List<String> lines = new ArrayList<>();
    String first = format(lock.durations().get(0));
    lines.add(
        lock.on() == Lock.On.LIMIT
            ? "The call that uses up a limit still passes, and locks its caller out for %s from that moment."
                .formatted(first)
            : "A caller that a limit denies is locked out for %s from that moment."
                .formatted(first));
    if (lock.durations().size() > 1) {
      String row =
          lock.durations().stream().map(RuleWords::format).collect(Collectors.joining(", "));
      lines.add(
          "Locks in a row last %s, and the last of these from then on; they are in a row while each"
                  .formatted(row)
              + " is earned within %s of the end of the one before."
                  .formatted(format(lock.memory())));
    }
    lines.add("Retrying while locked does not make a lock longer.");
    return lines;
  }

  private static List<String> missing(Rule rule) {
    List<String> needed = rule.by().stream().filter(by -> !by.equals(Rule.EVERYONE)).toList();
    if (needed.isEmpty() && !rule.by().isEmpty()) {
      return List.of();
    }
    String lacking = needed.isEmpty() ? "any facet" : String.join(" or ", needed);
    return List.of(
        switch (rule.missing()) {
          case ERROR -> "A call without %s is refused with an error.".formatted(lacking);
          case SKIP -> "A call without %s passes without being counted by it.".formatted(lacking);
        });
  }

  private static String outage(Rule rule) {
    return switch (rule.onStoreFailure()) {
      case ALLOW -> "During an outage of the store calls pass, and nobody counts them.";
      case LOCAL ->
          "During an outage of the store each node counts by itself, and lets at most its share of"
              + " each limit pass.";
      case DENY -> "During an outage of the store calls are denied.";
    };
  }

  // ---- Small words ----------------------------------------------------------------------------

  /** Facet values for a message; a secret one is not shown. */
  private static String shown(Rules rules, Map<String, String> facets) {
    return new TreeMap<>(facets)
        .entrySet().stream()
            .map(
                facet -> {
                  Facet known = rules.facets().get(facet.getKey());
                  boolean secret = known != null && known.secret();
                  String value = Text.quoted(facet.getValue());
                  return facet.getKey()
                      + "="
                      + (secret ? "(secret)" : value.substring(1, value.length() - 1));
                })
            .collect(Collectors.joining(" and "));
  }

  private static String until(Rule.Special special) {
    return special.until() == null ? "" : " until " + special.until();
  }

  private static String times(long count, long factor) {
    return BigInteger.valueOf(count).multiply(BigInteger.valueOf(factor)).toString();
  }

  private static String format(Duration duration) {
    return Durations.format(duration);
  }
}
