package dev.sluice.spring.webflux;

import dev.sluice.spring.call.Answer;
import dev.sluice.spring.call.RefusedCall;
import dev.sluice.spring.call.UncountableException;
import dev.sluice.spring.web.Refusals;
import java.nio.charset.StandardCharsets;
import org.springframework.core.Ordered;
import org.springframework.http.HttpHeaders;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ControllerAdvice;
import org.springframework.web.bind.annotation.ExceptionHandler;

/** Answers refusals that WebFlux controllers throw; only controller advice sees those. */
public abstract class ReactiveAdvice implements Ordered {

  static ResponseEntity<byte[]> entity(Answer answer) {
    HttpHeaders headers = new HttpHeaders();
    answer.headers().forEach(headers::set);
    headers.setContentType(MediaType.parseMediaType(answer.contentType()));
    return ResponseEntity.status(answer.status())
        .headers(headers)
        .body(answer.body().getBytes(StandardCharsets.UTF_8));
  }

  /** The first advice, so that no general handler swallows refusals; last if one names them. */
  @ControllerAdvice
  public static class OfRefusals extends ReactiveAdvice {
    private final Refusals refusals;

    public OfRefusals(Refusals refusals) {
      this.refusals = refusals;
    }

    @ExceptionHandler(RefusedCall.class)
    ResponseEntity<byte[]> refused(RefusedCall refusal) {
      return entity(refusal.answer());
    }

    @Override
    public int getOrder() {
      return refusals.areNamed() ? LOWEST_PRECEDENCE : HIGHEST_PRECEDENCE;
    }
  }

  /** Always the first advice: the application has no access to the exception. */
  @ControllerAdvice
  public static class OfUncountable extends ReactiveAdvice {
    @ExceptionHandler(UncountableException.class)
    ResponseEntity<byte[]> uncountable(UncountableException e) {
      return entity(Answer.to(e));
    }

    @Override
    public int getOrder() {
      return HIGHEST_PRECEDENCE;
    }
  }
}
