package dev.sluice.spring.call;

import dev.sluice.Decision;
import dev.sluice.spring.RateLimitedException;
import java.util.List;

/** A refused call with the HTTP answer to it. */
public final class RefusedCall extends RateLimitedException {
  private static final long serialVersionUID = 1L;

  private final transient Answer answer;

  RefusedCall(List<String> rules, Decision decision, Answer answer) {
    super(rules, decision, answer.headers());
    this.answer = answer;
  }

  public Answer answer() {
    return answer;
  }
}
