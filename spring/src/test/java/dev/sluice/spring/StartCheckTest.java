package dev.sluice.spring;

import static dev.sluice.spring.RateLimit.Count.ON_FAILURE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.http.ResponseEntity;
import org.springframework.web.servlet.mvc.method.annotation.SseEmitter;
import reactor.adapter.JdkFlowAdapter;
import reactor.core.publisher.Mono;

/** What could be silently inactive stops the start, with its place. */
@ExtendWith(OutputCaptureExtension.class)
class StartCheckTest {
  private static final String RULE = "sluice.rules.SecureMiniGame.limit=2 per 1m";
  private static final String BY = "sluice.rules.SecureMiniGame.by=player";

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class Misspelt {
    static class Game {
      @RateLimit(value = "SecureMinigame", by = "player=#player")
      String play(String player) {
        return player;
      }
    }

    @Bean
    Game game() {
      return new Game();
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class Inactive {
    static class Board {
      @RateLimit(value = "SecureMiniGame", by = "player=#palyer")
      String play(String player) {
        return player;
      }

      @RateLimit("SecureMiniGame")
      String anonymous() {
        return "";
      }

      @RateLimit(value = "SecureMiniGame", by = "player='x'")
      final String fixed() {
        return "";
      }
    }

    @Bean
    Board board() {
      return new Board();
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class Unseen {
    @RateLimit(value = "SecureMiniGame", by = "player='x'")
    static class Table {
      public final String fixed() {
        return "";
      }
    }

    static class Ends {
      @RateLimit(value = "SecureMiniGame", by = "player='x'", count = ON_FAILURE)
      public Future<String> future() {
        return CompletableFuture.completedFuture("");
      }

      @RateLimit(value = "SecureMiniGame", by = "player='x'", count = ON_FAILURE)
      public SseEmitter events() {
        return new SseEmitter();
      }

      @RateLimit(value = "SecureMiniGame", by = "player='x'", count = ON_FAILURE)
      public Flow.Publisher<String> flow() {
        return JdkFlowAdapter.publisherToFlowPublisher(Mono.just(""));
      }

      @RateLimit(value = "SecureMiniGame", by = "player='x'", count = ON_FAILURE)
      public ResponseEntity<Mono<String>> entity() {
        return ResponseEntity.ok(Mono.just(""));
      }

      @RateLimit(value = "SecureMiniGame", by = "player='x'", count = ON_FAILURE)
      public ResponseEntity<String> good() {
        return ResponseEntity.ok("");
      }
    }

    @Bean
    Table table() {
      return new Table();
    }

    @Bean
    @RateLimit(value = "SecureMiniGame", by = "player='x'")
    Ends ends() {
      return new Ends();
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class Plain {}

  private static App start(Class<?> main, String... properties) {
    return App.start(WebApplicationType.NONE, main, properties);
  }

  @Test
  void unknownRuleStopsTheStartWithPlaceAndNearestName() {
    assertThatThrownBy(() -> start(Misspelt.class, RULE, BY))
        .hasStackTraceContaining(
            "Game.play: no rule 'SecureMinigame' (did you mean 'SecureMiniGame'?)");
  }

  @Test
  void everyMistakeIsToldAtOnce() {
    assertThatThrownBy(() -> start(Inactive.class, RULE, BY))
        .hasStackTraceContaining("no argument '#palyer' (did you mean '#player'?)")
        .hasStackTraceContaining("Board.anonymous: rule 'SecureMiniGame' counts by 'player'")
        .hasStackTraceContaining("Board.fixed: @RateLimit has no effect on a final method");
  }

  @Test
  void whatWouldNeverCountStopsTheStart() {
    assertThatThrownBy(() -> start(Unseen.class, RULE, BY))
        .hasStackTraceContaining("Table.fixed: @RateLimit has no effect on a final method")
        .hasStackTraceContaining("Unseen.ends: @RateLimit has no effect on a @Bean method")
        .hasStackTraceContaining("Ends.future: count = ON_FAILURE cannot see how a Future ends")
        .hasStackTraceContaining("Ends.events: count = ON_FAILURE cannot see how a SseEmitter")
        .hasStackTraceContaining("Ends.flow: count = ON_FAILURE cannot see how a Publisher ends")
        .hasStackTraceContaining("Ends.entity: count = ON_FAILURE cannot see how a ResponseEnt")
        .satisfies(
            e ->
                assertThat(e)
                    .hasStackTraceContaining("Ends")
                    .message()
                    .doesNotContain("Ends.good"));
  }

  @Test
  void routeBeforeSecurityCannotCountByTheUser() {
    assertThatThrownBy(
            () ->
                App.start(
                    WebApplicationType.SERVLET,
                    Plain.class,
                    "sluice.rules.Api.limit=2 per 1m",
                    "sluice.rules.Api.by=member",
                    "sluice.routes[0].path=/api/**",
                    "sluice.routes[0].rule=Api"))
        .hasStackTraceContaining("sluice.routes[0]: rule 'Api' counts by 'member'")
        .hasStackTraceContaining("place: after-security");
  }

  @Test
  void unknownStoreIsRefusedWithoutItsPassword() {
    assertThatThrownBy(() -> start(Plain.class, "sluice.store=mysql://me:hush@host"))
        .hasStackTraceContaining("sluice.store: 'mysql://***@host' (expected: memory, spring,")
        .satisfies(e -> assertThat(e.toString()).doesNotContain("hush"));
  }

  @Test
  void oneLineTellsWhatIsOn(CapturedOutput output) {
    start(Plain.class, RULE, BY).close();

    assertThat(output.getOut())
        .contains("Sluice is on. Store: memory (this JVM alone). 1 rule: SecureMiniGame. 0 routes.")
        .contains("Sluice limits nothing yet");
  }

  @Test
  void switchedOffItSaysSo(CapturedOutput output) {
    try (App app = start(Misspelt.class, "sluice.enabled=false")) {
      assertThat(app.bean(Misspelt.Game.class).play("x")).isEqualTo("x");
      assertThat(output.getOut()).contains("Sluice is off (sluice.enabled=false)");
    }
  }
}
