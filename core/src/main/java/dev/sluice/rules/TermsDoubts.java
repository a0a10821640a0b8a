package dev.sluice.rules;

import dev.sluice.Limit;
import dev.sluice.Lock;
import dev.sluice.Rule;
import dev.sluice.Terms;
import dev.sluice.internal.Durations;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** Finds terms that are valid but probably not intended. */
final class TermsDoubts {
  private TermsDoubts() {}

  /** A doubt, in the form of a finding. */
  record Doubt(String found, String advice) {}

  /** Finds doubts about a lock. */
  static List<Doubt> find(Terms terms) {
    Lock lock = terms.lock();
    List<Doubt> doubts = new ArrayList<>();
    if (lock != null) {
      List<Duration> row = lock.durations();
      Duration wait =
          terms.limits().stream().map(TermsDoubts::wait).min(Duration::compareTo).orElseThrow();
      List<Duration> unseen = row.stream().filter(each -> each.compareTo(wait) < 0).toList();
      if (!unseen.isEmpty()) {
        doubts.add(
            new Doubt(
                "lock is %s, and the limit by itself keeps callers out for %s: nobody will notice"
                        .formatted(listed(unseen), Durations.format(wait))
                    + " the lock",
                "expected: at least " + Durations.format(wait)));
      }
      for (int i = 1; i < row.size(); i++) {
        if (row.get(i).compareTo(row.get(i - 1)) < 0) {
          doubts.add(
              new Doubt(
                  "lock is [%s], in which %s is shorter than %s before it"
                      .formatted(
                          listed(row),
                          Durations.format(row.get(i)),
                          Durations.format(row.get(i - 1))),
                  "expected: locks that grow"));
          break;
        }
      }
    }
    return doubts;
  }

  /**
   * Finds overrides whose callers share an account with others and so erase their usage: a limit
   * takes over usage only from a limit of the same kind and window.
   */
  static List<Doubt> findShared(Terms base, Rule.Special special, List<String> by) {
    boolean shared =
        by.stream().anyMatch(who -> !Rule.facetsOf(who).containsAll(special.when().keySet()));
    return !shared || shapes(base).equals(shapes(special.terms()))
        ? List.of()
        : List.of(
            new Doubt(
                "override: its limits have other kinds or windows than the rule's, on accounts that"
                    + " other callers share: usage starts anew when they take turns",
                "expected: limits that differ only in how much may pass"));
  }

  private static List<String> shapes(Terms terms) {
    return terms.limits().stream().map(TermsDoubts::shape).sorted().toList();
  }

  /** What must be equal for a limit to keep the usage of another one. */
  private static String shape(Limit limit) {
    String kind = limit.getClass().getSimpleName();
    if (limit instanceof Limit.TokenBucket) {
      return kind;
    }
    return kind
        + (limit instanceof Limit.FixedWindow fixed ? fixed.cycle() : limit.window())
        + (limit instanceof Limit.SlidingWindow sliding ? sliding.precision() : "");
  }

  /** How long a limit denies all calls after it was used up at once. */
  private static Duration wait(Limit limit) {
    return limit instanceof Limit.TokenBucket bucket
        ? bucket.period().dividedBy(bucket.refill())
        : limit.window();
  }

  private static String listed(List<Duration> durations) {
    return durations.stream().map(Durations::format).collect(Collectors.joining(", "));
  }
}
