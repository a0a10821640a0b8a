package dev.sluice.rules;

import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** All errors in a rule file. */
public final class RuleErrors extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;
  private static final int MOST_SHOWN = 100;

  @SuppressWarnings("serial") // an immutable list of records of strings; sent nowhere
  private final List<Problem> problems;

  /** The severity of a finding. */
  public enum Severity {
    /** The file is refused. */
    ERROR,
    /** The file is valid, but this is probably not what was intended. */
    WARNING
  }

  /**
   * One finding.
   *
   * @param file the name of the file
   * @param line the line, counted from 1; 0 for the file as a whole
   * @param rule the rule it is in, or null
   * @param found what is wrong
   * @param advice what is expected, or what was probably intended
   * @param severity whether the file is refused
   */
  public record Problem(
      String file,
      int line,
      @Nullable String rule,
      String found,
      String advice,
      Severity severity) {
    /** An error. */
    public Problem(String file, int line, @Nullable String rule, String found, String advice) {
      this(file, line, rule, found, advice, Severity.ERROR);
    }

    /** Reads like {@code rules.yaml:14 rule 'login': limit is 0 (expected: at least 1)}. */
    @Override
    public String toString() {
      return file
          + (line == 0 ? "" : ":" + line)
          + "  "
          + (severity == Severity.WARNING ? "warning: " : "")
          + (rule == null ? "" : "rule '" + rule + "': ")
          + found
          + (advice.isEmpty() ? "" : " (" + advice + ")");
    }
  }

  RuleErrors(List<Problem> problems) {
    super(text(problems));
    this.problems = List.copyOf(problems);
  }

  /** A single error, in the file as a whole or on a line. */
  public static RuleErrors of(String file, int line, String found, String advice) {
    return new RuleErrors(List.of(new Problem(file, line, null, found, advice)));
  }

  /** The errors, sorted by line; at least one. */
  public List<Problem> problems() {
    return problems;
  }

  private static String text(List<Problem> problems) {
    String shown =
        problems.stream()
            .limit(MOST_SHOWN)
            .map(Problem::toString)
            .collect(Collectors.joining("\n"));
    int more = problems.size() - MOST_SHOWN;
    return more > 0 ? shown + "\n… and " + more + " more" : shown;
  }
}
