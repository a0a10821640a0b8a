package dev.sluice.spring.boot;

import dev.sluice.rules.RuleErrors;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;

/**
 * Has Spring Boot say what is wrong and what to do, in place of a stack trace, when Sluice stops a
 * start.
 */
public final class StartFailureAnalyzer implements FailureAnalyzer {
  private static final int DEEPEST = 50; // causes can go round in a circle

  @Override
  public @Nullable FailureAnalysis analyze(Throwable failure) {
    Throwable cause = failure;
    for (int depth = 0; cause != null && depth < DEEPEST; depth++) {
      if (cause instanceof StartFailure known) {
        return new FailureAnalysis(known.getMessage(), known.action(), known);
      }
      if (cause instanceof RuleErrors errors) {
        // Of a bean of the application that reads rules.
        return new FailureAnalysis(
            StartFailure.described(
                errors.problems().stream().map(RuleErrors.Problem::toString).toList()),
            "Correct the rules.",
            errors);
      }
      cause = cause.getCause();
    }
    return null;
  }
}
