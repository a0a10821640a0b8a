package dev.sluice.spring.boot;

import dev.sluice.rules.RuleErrors;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;

/**
 * Makes Spring Boot print the reason and the action instead of a stack trace when Sluice stops the
 * start.
 */
final class StartFailureAnalyzer implements FailureAnalyzer {
  private static final int DEEPEST = 50; // causes can be circular

  @Override
  public @Nullable FailureAnalysis analyze(Throwable failure) {
    Throwable cause = failure;
    for (int depth = 0; cause != null && depth < DEEPEST; depth++) {
      if (cause instanceof StartFailure known) {
        return new FailureAnalysis(known.getMessage(), known.action(), known);
      }
      if (cause instanceof RuleErrors errors) {
        // From a bean of the application that reads rules.
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
