package dev.sluice.spring;

import dev.sluice.Decision;
import java.util.List;

/**
 * A call was refused by its rules; as the answer to a request it is 429 with headers and a body.
 *
 * <p>An {@code @ExceptionHandler} of the application that names this class replaces that answer.
 */
public final class RateLimitedException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final transient Decision decision;

  RateLimitedException(List<String> rules, Decision decision) {
    super("refused by rule " + String.join(", ", rules), null, false, false);
    this.decision = decision;
  }

  /** The refusal: which limit, when to come back, until when it is locked. */
  public Decision decision() {
    return decision;
  }
}
