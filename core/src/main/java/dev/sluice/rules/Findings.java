package dev.sluice.rules;

import dev.sluice.internal.InvalidValueException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The errors and warnings found so far in one file. */
final class Findings {
  private static final int MOST = 200;

  private final String file;
  private final List<RuleErrors.Problem> problems = new ArrayList<>();
  private final List<RuleErrors.Problem> warnings = new ArrayList<>();

  Findings(String file) {
    this.file = file;
  }

  /** Adds an error. A file with too many errors is not read to its end. */
  void add(int line, @Nullable String rule, String found, String advice) {
    problems.add(new RuleErrors.Problem(file, line, rule, found, advice));
    if (problems.size() >= MOST) {
      throwIfAny();
    }
  }

  /** Adds a warning; only the first ones are kept. */
  void warn(int line, @Nullable String rule, String found, String advice) {
    if (warnings.size() < MOST) {
      warnings.add(
          new RuleErrors.Problem(file, line, rule, found, advice, RuleErrors.Severity.WARNING));
    }
  }

  /** The warnings, sorted by line. */
  List<String> warnings() {
    return sorted(warnings).stream().map(RuleErrors.Problem::toString).toList();
  }

  /** Adds an error about the value of a key; the exception says what is allowed. */
  void add(int line, @Nullable String rule, String key, InvalidValueException unfit) {
    String name = unfit.name();
    add(line, rule, (name == null ? key : name) + " is " + unfit.found(), unfit.advice());
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
