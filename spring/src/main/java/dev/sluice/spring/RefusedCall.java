package dev.sluice.spring;

import dev.sluice.Decision;
import java.util.List;

/** A refused call, with the answer to its request. */
final class RefusedCall extends RateLimitedException {
  private static final long serialVersionUID = 1L;

  private final transient Answer answer;

  RefusedCall(List<String> rules, Decision decision, Answer answer) {
    super(rules, decision, answer.headers());
    this.answer = answer;
  }

  Answer answer() {
    return answer;
  }
}
