package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Decision;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ControllerAdvice;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.bind.annotation.RestControllerAdvice;
import org.springframework.web.servlet.View;
import reactor.core.publisher.Mono;

/** Whoever answers a refusal, of an annotation or of a route, the header fields are there. */
class RefusalHandlerTest {
  private static final String[] SETTINGS = {
    "sluice.rules.Once.by=ip+route",
    "sluice.rules.Once.limit=1 per 1m",
    "sluice.rules.Method.by=ip",
    "sluice.rules.Method.limit=1 per 1m",
    "sluice.rules.Many.by=ip",
    "sluice.rules.Many.limit=100 per 1h",
    "sluice.routes[0].path=/route",
    "sluice.routes[0].rule=Once",
    "sluice.routes[1].path=/once",
    "sluice.routes[1].rule=Many",
  };

  @RestController
  static class Pages {
    @GetMapping("/once")
    @RateLimit("Method")
    public Mono<String> once() {
      return Mono.just("once");
    }

    @GetMapping("/route")
    public Mono<String> route() {
      return Mono.just("route");
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

  /** Has a wait of its own, as handlers had that were written before the fields were kept. */
  @RestControllerAdvice
  static class OwnWait {
    @ExceptionHandler
    ResponseEntity<Map<String, String>> refused(RateLimitedException e) {
      return ResponseEntity.status(429)
          .header("Retry-After", "7")
          .body(Map.of("wait", e.headers().get("Retry-After")));
    }
  }

  @RestControllerAdvice
  static class Broken {
    @ExceptionHandler
    ResponseEntity<String> refused(RateLimitedException e) {
      throw new IllegalStateException("on purpose");
    }
  }

  @ControllerAdvice
  static class OwnPage {
    @ExceptionHandler(RateLimitedException.class)
    @ResponseStatus(HttpStatus.TOO_MANY_REQUESTS)
    String refused() {
      return "slowly";
    }

    /** A view without a template. */
    static class Slowly implements View {
      @Override
      public String getContentType() {
        return "text/html";
      }

      @Override
      public void render(
          @Nullable Map<String, ?> model, HttpServletRequest request, HttpServletResponse response)
          throws java.io.IOException {
        response.setContentType("text/html");
        response.getWriter().write("<p>slowly</p>");
      }
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

  /** For controllers of another kind. */
  @RestControllerAdvice(assignableTypes = RefusalHandlerTest.class)
  static class OwnElsewhere extends Own {}

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @Import({Pages.class, CatchAll.class, OwnElsewhere.class})
  static class WithOwnElsewhere {}

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @Import({Pages.class, OwnWait.class})
  static class WithOwnWait {}

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @Import({Pages.class, Broken.class})
  static class WithBroken {}

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @Import({Pages.class, OwnPage.class})
  static class WithOwnPage {
    @Bean
    View slowly() {
      return new OwnPage.Slowly();
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @Import({Pages.class, CatchAll.class})
  static class WithBody {
    @Bean
    RefusalBody body() {
      return refusal -> "{\"code\":\"SLOWLY\",\"locked\":%s}".formatted(refusal.locked());
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @Import({Pages.class, CatchAll.class})
  static class WithBrokenBody {
    @Bean
    RefusalBody body() {
      return new RefusalBody() {
        @Override
        public String write(Decision refusal) {
          throw new IllegalStateException("on purpose");
        }

        @Override
        public String contentType() {
          return "text/plain";
        }
      };
    }
  }

  /** What the second call of the annotated method and of the route is answered with. */
  private static List<HttpResponse<String>> refused(WebApplicationType type, Class<?> main) {
    try (App app = App.start(type, main, SETTINGS)) {
      List<HttpResponse<String>> refused = new ArrayList<>();
      for (String path : List.of("/once", "/route")) {
        assertThat(app.get(path).statusCode()).isEqualTo(200);
        refused.add(app.get(path));
      }
      return refused;
    }
  }

  private static void assertFieldsOfRefusal(HttpResponse<String> refused) {
    assertThat(refused.headers().allValues("Retry-After")).hasSize(1);
    assertThat(Integer.parseInt(App.header(refused, "Retry-After"))).isBetween(1, 60);
    assertThat(refused.headers().allValues("X-RateLimit-Remaining")).containsExactly("0");
    assertThat(refused.headers().allValues("X-RateLimit-Limit")).containsExactly("1");
    assertThat(refused.headers().allValues("RateLimit-Policy")).hasSize(1);
    assertThat(refused.headers().allValues("RateLimit")).hasSize(1);
  }

  @ParameterizedTest
  @EnumSource(names = {"SERVLET", "REACTIVE"})
  void handlerOfEveryExceptionDoesNotSwallowRefusals(WebApplicationType type) {
    for (HttpResponse<String> refused : refused(type, WithCatchAll.class)) {
      assertThat(refused.statusCode()).isEqualTo(429);
      assertThat(App.header(refused, "Content-Type")).isEqualTo("application/problem+json");
      assertFieldsOfRefusal(refused);
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"SERVLET", "REACTIVE"})
  void handlerThatNamesRefusalsReplacesOursAndKeepsTheFields(WebApplicationType type) {
    for (HttpResponse<String> refused : refused(type, WithOwn.class)) {
      assertThat(refused.statusCode()).isEqualTo(420);
      assertThat(refused.body()).isEqualTo("own true");
      assertFieldsOfRefusal(refused);
    }
  }

  @Test
  void handlerOfOtherControllersIsNotAsked() {
    for (HttpResponse<String> refused :
        refused(WebApplicationType.SERVLET, WithOwnElsewhere.class)) {
      assertThat(refused.statusCode()).isEqualTo(429);
    }
    assertThat(refused(WebApplicationType.REACTIVE, WithOwnElsewhere.class).get(1).statusCode())
        .isEqualTo(429);
  }

  @ParameterizedTest
  @EnumSource(names = {"SERVLET", "REACTIVE"})
  void fieldThatAHandlerSetsReplacesOurs(WebApplicationType type) {
    for (HttpResponse<String> refused : refused(type, WithOwnWait.class)) {
      assertThat(refused.statusCode()).isEqualTo(429);
      assertThat(refused.body()).contains("\"wait\":\"");
      assertThat(refused.headers().allValues("Retry-After")).containsExactly("7");
      assertThat(refused.headers().allValues("X-RateLimit-Remaining")).containsExactly("0");
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"SERVLET", "REACTIVE"})
  void handlerThatFailsLeavesTheRefusal(WebApplicationType type) {
    for (HttpResponse<String> refused : refused(type, WithBroken.class)) {
      assertThat(refused.statusCode()).isEqualTo(429);
      assertThat(refused.body()).contains("quota-exceeded");
      assertFieldsOfRefusal(refused);
    }
  }

  @Test
  void handlerMayAnswerWithAView() {
    for (HttpResponse<String> refused : refused(WebApplicationType.SERVLET, WithOwnPage.class)) {
      assertThat(refused.statusCode()).isEqualTo(429);
      assertThat(refused.body()).isEqualTo("<p>slowly</p>");
      assertFieldsOfRefusal(refused);
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"SERVLET", "REACTIVE"})
  void beanChangesTheBodyAlone(WebApplicationType type) {
    for (HttpResponse<String> refused : refused(type, WithBody.class)) {
      assertThat(refused.statusCode()).isEqualTo(429);
      assertThat(App.header(refused, "Content-Type")).startsWith("application/json");
      assertThat(refused.body()).isEqualTo("{\"code\":\"SLOWLY\",\"locked\":false}");
      assertFieldsOfRefusal(refused);
    }
  }

  @Test
  void bodyThatFailsLeavesTheRefusal() {
    HttpResponse<String> refused = refused(WebApplicationType.SERVLET, WithBrokenBody.class).get(0);

    assertThat(refused.statusCode()).isEqualTo(429);
    assertThat(App.header(refused, "Content-Type")).isEqualTo("application/problem+json");
    assertThat(refused.body()).contains("quota-exceeded");
  }
}
