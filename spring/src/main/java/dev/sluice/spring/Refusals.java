package dev.sluice.spring;

import dev.sluice.http.HttpAnswer;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.springframework.context.ApplicationContext;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.http.HttpHeaders;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.util.ReflectionUtils;
import org.springframework.web.bind.annotation.ControllerAdvice;
import org.springframework.web.bind.annotation.ExceptionHandler;

/** Answers refused requests of controllers, in MVC and in WebFlux. */
@ControllerAdvice
class Refusals implements Ordered {
  /*
   * Many applications have an advice that makes 500 of every Exception. It must not swallow refusals,
   * so this one comes first; unless the application has a handler that names RateLimitedException:
   * that one was written for refusals, and this one comes last.
   */
  private final Gate gate;
  private final ApplicationContext beans;
  private final Function<@Nullable Object[], @Nullable EdgeRequest> edge;
  private @Nullable Integer order;

  Refusals(
      Gate gate,
      ApplicationContext beans,
      Function<@Nullable Object[], @Nullable EdgeRequest> edge) {
    this.gate = gate;
    this.beans = beans;
    this.edge = edge;
  }

  @ExceptionHandler(RateLimitedException.class)
  ResponseEntity<byte[]> refused(RateLimitedException refusal) {
    return entity(answer(refusal));
  }

  @ExceptionHandler(UncountableException.class)
  ResponseEntity<byte[]> uncountable(UncountableException e) {
    return entity(answer(e));
  }

  /** The answer to an exception of ours, or null. */
  @Nullable HttpAnswer answerTo(Throwable error) {
    if (error instanceof RateLimitedException refusal) {
      return answer(refusal);
    }
    return error instanceof UncountableException e ? answer(e) : null;
  }

  private HttpAnswer answer(RateLimitedException refusal) {
    return gate.refusal(edge.apply(new Object[0]), refusal.decision());
  }

  static HttpAnswer answer(UncountableException e) {
    String detail = String.valueOf(e.getMessage());
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < detail.length(); i++) {
      char c = detail.charAt(i);
      text.append(c == '"' || c == '\\' ? "\\" + c : c < ' ' ? " " : String.valueOf(c));
    }
    return new HttpAnswer(
        400,
        Map.of(),
        "{\"type\":\"about:blank\",\"title\":\"Bad Request\",\"status\":400,\"detail\":\"%s\"}"
            .formatted(text));
  }

  private static ResponseEntity<byte[]> entity(HttpAnswer answer) {
    HttpHeaders headers = new HttpHeaders();
    answer.headers().forEach(headers::set);
    headers.setContentType(MediaType.parseMediaType(HttpAnswer.PROBLEM_TYPE));
    return ResponseEntity.status(answer.status()).headers(headers).body(body(answer));
  }

  static byte[] body(HttpAnswer answer) {
    String problem = answer.problem();
    return (problem == null ? "" : problem).getBytes(StandardCharsets.UTF_8);
  }

  @Override
  public synchronized int getOrder() {
    Integer known = order;
    if (known == null) {
      known = applicationHandlesThem() ? LOWEST_PRECEDENCE : HIGHEST_PRECEDENCE;
      order = known;
    }
    return known;
  }

  private boolean applicationHandlesThem() {
    for (String name : beans.getBeanNamesForAnnotation(ControllerAdvice.class)) {
      Class<?> type = beans.getType(name);
      if (type != null && !Refusals.class.isAssignableFrom(type) && handlesThem(type)) {
        return true;
      }
    }
    return false;
  }

  private static boolean handlesThem(Class<?> type) {
    for (Method method : ReflectionUtils.getAllDeclaredMethods(type)) {
      ExceptionHandler handler =
          AnnotatedElementUtils.findMergedAnnotation(method, ExceptionHandler.class);
      if (handler != null) {
        boolean named =
            Arrays.asList(handler.value()).contains(RateLimitedException.class)
                || Arrays.asList(method.getParameterTypes()).contains(RateLimitedException.class);
        if (named) {
          return true;
        }
      }
    }
    return false;
  }
}
