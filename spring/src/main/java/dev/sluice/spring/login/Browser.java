package dev.sluice.spring.login;

import java.util.List;
import java.util.Locale;
import java.util.function.Function;

/** Distinguishes browsers, which show pages, from programs, which read the status. */
final class Browser {
  private Browser() {}

  /** Whether a request expects a page; those of scripts and of HTTP basic do not. */
  static boolean sent(Function<String, List<String>> headers) {
    boolean html =
        headers.apply("Accept").stream()
            .anyMatch(accept -> accept.toLowerCase(Locale.ROOT).contains("text/html"));
    boolean script = headers.apply("X-Requested-With").contains("XMLHttpRequest");
    return html && !script && headers.apply("Authorization").isEmpty();
  }
}
