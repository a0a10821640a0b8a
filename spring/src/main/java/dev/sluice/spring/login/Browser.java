package dev.sluice.spring.login;

import java.util.List;
import java.util.Locale;
import java.util.function.Function;

/** Tells a person with a browser, who is shown pages, from a program, which reads answers. */
final class Browser {
  private Browser() {}

  /** Whether a request wants a page; its script's requests and HTTP basic want an answer. */
  static boolean sent(Function<String, List<String>> headers) {
    boolean html =
        headers.apply("Accept").stream()
            .anyMatch(accept -> accept.toLowerCase(Locale.ROOT).contains("text/html"));
    boolean script = headers.apply("X-Requested-With").contains("XMLHttpRequest");
    return html && !script && headers.apply("Authorization").isEmpty();
  }
}
