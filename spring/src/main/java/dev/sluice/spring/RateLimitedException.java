package dev.sluice.spring;

import dev.sluice.Decision;
import java.util.List;
import java.util.Map;

/**
 * A call was refused by its rules; as the answer to a request it is 429 with headers and a body.
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

  /** The refusal: which limit, when to come back, until when it is locked. */
  public final Decision decision() {
    return decision;
  }

  /**
   * The header fields of the answer: {@code Retry-After} and those that tell where the client
   * stands. In a request they are sent by themselves; this is for code that answers elsewhere.
   */
  public final Map<String, String> headers() {
    return headers;
  }
}
