package dev.sluice.rules;

import dev.sluice.Text;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The mistakes found so far in one file, and what is doubtful in it. */
final class Findings {
  /*
   * A value that does not fit is an IllegalArgumentException wherever it is noticed: by the readers
   * of this package as "found (expected: …)", by the types of dev.sluice as "name: found
   * (expected: …)". So what is allowed is said once, by the type that needs it; here the name and
   * the line are put to it.
   */
  private static final Pattern MESSAGE =
      Pattern.compile(
          "(?:([A-Za-z][A-Za-z ×-]*): )?(.*?) \\((expected: .*|did you mean .*)\\)",
          Pattern.DOTALL);

  private static final int MOST = 200;

  private final String file;
  private final List<RuleErrors.Problem> problems = new ArrayList<>();
  private final List<RuleErrors.Problem> warnings = new ArrayList<>();

  Findings(String file) {
    this.file = file;
  }

  /** Puts a mistake to the others. A file with very many is not read to its end. */
  void add(int line, @Nullable String rule, String found, String advice) {
    problems.add(new RuleErrors.Problem(file, line, rule, found, advice));
    if (problems.size() >= MOST) {
      throwIfAny();
    }
  }

  /** Puts something doubtful to the rest; of very many, the first are told. */
  void warn(int line, @Nullable String rule, String found, String advice) {
    if (warnings.size() < MOST) {
      warnings.add(
          new RuleErrors.Problem(file, line, rule, found, advice, RuleErrors.Severity.WARNING));
    }
  }

  /** What is doubtful, in the order of the lines. */
  List<String> warnings() {
    return sorted(warnings).stream().map(RuleErrors.Problem::toString).toList();
  }

  /** A value that does not fit under its key. */
  void add(int line, @Nullable String rule, String key, IllegalArgumentException unfit) {
    String message = String.valueOf(unfit.getMessage());
    Matcher parts = MESSAGE.matcher(message);
    if (!parts.matches()) {
      add(line, rule, key + " is " + message, "");
      return;
    }
    String name = parts.group(1) == null ? key : parts.group(1);
    add(line, rule, name + " is " + parts.group(2), parts.group(3));
  }

  /** The name that an exception of dev.sluice begins with, or null. */
  static @Nullable String nameIn(IllegalArgumentException unfit) {
    Matcher parts = MESSAGE.matcher(String.valueOf(unfit.getMessage()));
    return parts.matches() ? parts.group(1) : null;
  }

  /** What was probably meant, or everything that is possible. */
  static String advice(String found, Collection<String> possible) {
    return Text.nearest(found, possible)
        .map(near -> "did you mean '" + near + "'?")
        .orElseGet(
            () ->
                possible.isEmpty()
                    ? "expected: none"
                    : "expected: "
                        + (possible.size() > 1 ? "one of " : "")
                        + Text.listed(possible));
  }

  int size() {
    return problems.size();
  }

  void throwIfAny() {
    if (!problems.isEmpty()) {
      throw new RuleErrors(sorted(problems));
    }
  }

  private static List<RuleErrors.Problem> sorted(List<RuleErrors.Problem> found) {
    List<RuleErrors.Problem> sorted = new ArrayList<>(found);
    sorted.sort(Comparator.comparingInt(RuleErrors.Problem::line));
    return sorted;
  }
}
