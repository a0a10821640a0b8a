package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.http.HttpResponse;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.bind.annotation.RestControllerAdvice;
import reactor.core.publisher.Mono;

/** The application's own handler replaces ours; one for every exception does not. */
class RefusalHandlerTest {
  private static final String[] SETTINGS = {
    "sluice.rules.Once.by=ip", "sluice.rules.Once.limit=1 per 1m",
  };

  @RestController
  static class Pages {
    @GetMapping("/once")
    @RateLimit("Once")
    public Mono<String> once() {
      return Mono.just("once");
    }
  }

  @RestControllerAdvice
  static class CatchAll {
    @ExceptionHandler(Exception.class)
    ResponseEntity<String> any(Exception e) {
      return ResponseEntity.status(500).body("caught all");
    }
  }

  @RestControllerAdvice
  static class Own {
    @ExceptionHandler
    ResponseEntity<String> refused(RateLimitedException e) {
      return ResponseEntity.status(420).body("own " + e.decision().deciding().isPresent());
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @Import({Pages.class, CatchAll.class})
  static class WithCatchAll {}

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @Import({Pages.class, Own.class})
  static class WithOwn {}

  @ParameterizedTest
  @CsvSource({"SERVLET", "REACTIVE"})
  void handlerOfEveryExceptionDoesNotSwallowRefusals(WebApplicationType type) {
    try (App app = App.start(type, WithCatchAll.class, SETTINGS)) {
      app.get("/once");

      assertThat(app.get("/once").statusCode()).isEqualTo(429);
    }
  }

  @ParameterizedTest
  @CsvSource({"SERVLET", "REACTIVE"})
  void handlerThatNamesRefusalsReplacesOurs(WebApplicationType type) {
    try (App app = App.start(type, WithOwn.class, SETTINGS)) {
      app.get("/once");
      HttpResponse<String> refused = app.get("/once");

      assertThat(refused.statusCode()).isEqualTo(420);
      assertThat(refused.body()).isEqualTo("own true");
    }
  }
}
