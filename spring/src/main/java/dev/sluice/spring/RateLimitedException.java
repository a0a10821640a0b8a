package dev.sluice.spring;

import dev.sluice.Decision;
import java.util.List;
import java.util.Map;

/**
 * A call was refused by its rules. A request is answered with 429, headers and a body.
 *
 * <p>An {@code @ExceptionHandler} of the application that names this class replaces that answer,
 * for annotations and, in a {@code @ControllerAdvice}, for routes. The header fields are kept.
 */
public class RateLimitedException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final transient Decision decision;
  private final transient Map<String, String> headers;

  /**
   * A refusal.
   *
   * @param rules the rules that the call named
   * @param headers the header fields of the answer
   */
  protected RateLimitedException(
      List<String> rules, Decision decision, Map<String, String> headers) {
    super("refused by rule " + String.join(", ", rules), null, false, false);
    this.decision = decision;
    this.headers = headers;
  }

  /** The decision: which limit refused, when to retry, until when the caller is locked. */
  public final Decision decision() {
    return decision;
  }

  /**
   * The header fields of the answer: {@code Retry-After} and the rate-limit headers. The answer to
   * a request has them already; this is for code that answers in another way.
   */
  public final Map<String, String> headers() {
    return headers;
  }
}
