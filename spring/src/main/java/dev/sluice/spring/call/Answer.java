package dev.sluice.spring.call;

import dev.sluice.http.HttpAnswer;
import java.util.Map;
import java.util.Objects;

/** The HTTP answer to a request that is refused. */
public record Answer(int status, Map<String, String> headers, String contentType, String body) {
  static Answer of(HttpAnswer answer) {
    return new Answer(
        answer.status(),
        answer.headers(),
        HttpAnswer.PROBLEM_TYPE,
        Objects.requireNonNullElse(answer.problem(), ""));
  }

  /** The answer to a request that cannot be counted. */
  public static Answer to(UncountableException e) {
    String detail = String.valueOf(e.getMessage());
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < detail.length(); i++) {
      char c = detail.charAt(i);
      text.append(c == '"' || c == '\\' ? "\\" + c : c < ' ' ? " " : String.valueOf(c));
    }
    return new Answer(
        400,
        Map.of(),
        HttpAnswer.PROBLEM_TYPE,
        "{\"type\":\"about:blank\",\"title\":\"Bad Request\",\"status\":400,\"detail\":\"%s\"}"
            .formatted(text));
  }

  /** The same with another body. */
  Answer with(String otherType, String otherBody) {
    return new Answer(status, headers, otherType, otherBody);
  }
}
