package dev.sluice.rules;

import dev.sluice.internal.InvalidValueException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The mistakes found so far in one file, and what is doubtful in it. */
final class Findings {
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

  /** A value that does not fit under its key; what is allowed is said by the type that needs it. */
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
