package dev.sluice.spring.boot;

import static dev.sluice.spring.RateLimit.Count.ON_FAILURE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Decision;
import dev.sluice.spring.App;
import dev.sluice.spring.FacetResolver;
import dev.sluice.spring.RateLimit;
import dev.sluice.spring.RefusalBody;
import dev.sluice.spring.Shop;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import java.util.concurrent.Future;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.http.ResponseEntity;
import org.springframework.web.servlet.mvc.method.annotation.SseEmitter;
import reactor.adapter.JdkFlowAdapter;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** A limit that would have no effect stops the start, and the message says where it is. */
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
      public Optional<CompletableFuture<String>> maybe() {
        return Optional.empty();
      }

      @RateLimit(value = "SecureMiniGame", by = "player='x'", count = ON_FAILURE)
      public Stream<String> stream() {
        return Stream.empty();
      }

      @RateLimit(value = "SecureMiniGame", by = "player='x'", count = ON_FAILURE)
      public Mono<ResponseEntity<Flux<String>>> deep() {
        return Mono.empty();
      }

      @RateLimit(value = "SecureMiniGame", by = "player='x'", count = ON_FAILURE)
      public Callable<Mono<String>> later() {
        return Mono::empty;
      }

      @RateLimit(value = "SecureMiniGame", by = "player='x'", count = ON_FAILURE)
      public List<Future<?>> list() {
        return List.of();
      }

      @RateLimit(value = "SecureMiniGame", by = "player='x'", count = ON_FAILURE)
      public Supplier<String> supplier() {
        return () -> "";
      }

      @RateLimit(
          value = "SecureMiniGame",
          by = "player='x'",
          count = ON_FAILURE,
          failedIf = "#result == 'no'")
      public Flux<String> many() {
        return Flux.empty();
      }

      @RateLimit(value = "SecureMiniGame", by = "player='x'", count = ON_FAILURE)
      public ResponseEntity<String> good() {
        return ResponseEntity.ok("");
      }

      @RateLimit(value = "SecureMiniGame", by = "player='x'", count = ON_FAILURE)
      public <T extends Comparable<T>> Map<String, ? extends List<T>> wild() {
        return Map.of();
      }
    }

    /** What it returns is known only from the class below. */
    static class Asking<T> {
      @RateLimit(value = "SecureMiniGame", by = "player='x'", count = ON_FAILURE)
      public @Nullable T ask() {
        return null;
      }
    }

    static class Keys extends Asking<Stream<String>> {}

    @Bean
    Keys keys() {
      return new Keys();
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
  static class Forgiving {
    static class Login {
      @RateLimit(value = "Login", by = "login='x'", count = ON_FAILURE, forgive = "ip")
      public String address() {
        return "";
      }

      @RateLimit(value = "Login", by = "login='x'", count = ON_FAILURE, forgive = "peer")
      public String addressByAnotherName() {
        return "";
      }

      @RateLimit(value = "Login", by = "login='x'", count = ON_FAILURE, forgive = "login+member")
      public String other() {
        return "";
      }

      @RateLimit(value = "Login", by = "login='x'", forgive = "login")
      public String always() {
        return "";
      }

      @RateLimit(
          value = "Login",
          by = "login='x'",
          count = ON_FAILURE,
          forgive = {"login", "ip+login"})
      public String good() {
        return "";
      }
    }

    @Bean
    Login login() {
      return new Login();
    }
  }

  /** Its facets are supplied by code, and one is misspelt. */
  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class Supplied {
    static class Desk {
      @RateLimit(value = "Login", by = "lgin=#login")
      public String misspelt(String login) {
        return login;
      }

      @RateLimit(value = "Login", by = "login=#login")
      public String good(String login) {
        return login;
      }

      @RateLimit(value = "Tenant")
      public String ofABean() {
        return "";
      }
    }

    @Bean
    Desk desk() {
      return new Desk();
    }

    @Bean
    FacetResolver tenant() {
      return new Shop.TenantResolver();
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class NoMediaType {
    @Bean
    RefusalBody body() {
      return new RefusalBody() {
        @Override
        public String write(Decision refusal) {
          return "";
        }

        @Override
        public String contentType() {
          return "json";
        }
      };
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
  void everyMistakeIsReportedAtOnce() {
    assertThatThrownBy(() -> start(Inactive.class, RULE, BY))
        .hasStackTraceContaining(
            "uses '#palyer', but the method has no such parameter (did you mean '#player'?)")
        .hasStackTraceContaining("Board.anonymous: rule 'SecureMiniGame' counts by 'player'")
        .hasStackTraceContaining("Board.fixed: @RateLimit has no effect on a final method");
  }

  @Test
  void whatWouldNeverCountStopsTheStart() {
    assertThatThrownBy(() -> start(Unseen.class, RULE, BY))
        .hasStackTraceContaining("Table.fixed: @RateLimit has no effect on a final method")
        .hasStackTraceContaining("Unseen.ends: @RateLimit has no effect on a @Bean method")
        .hasStackTraceContaining(
            "Ends.future: count = ON_FAILURE cannot see how a Future<String> ends")
        .hasStackTraceContaining("Ends.events: count = ON_FAILURE cannot see how a SseEmitter")
        .hasStackTraceContaining(
            "Ends.flow: count = ON_FAILURE cannot see how a Publisher<String> ends")
        .hasStackTraceContaining("how a ResponseEntity<Mono<String>> ends")
        .hasStackTraceContaining("how a Optional<CompletableFuture<String>> ends")
        .hasStackTraceContaining("how a Stream<String> ends")
        .hasStackTraceContaining("how a Mono<ResponseEntity<Flux<String>>> ends")
        .hasStackTraceContaining("how a Callable<Mono<String>> ends")
        .hasStackTraceContaining("how a List<Future<?>> ends")
        .hasStackTraceContaining("how a Supplier<String> ends")
        .hasStackTraceContaining(
            "Keys.ask: count = ON_FAILURE cannot see how a Stream<String> ends")
        .hasStackTraceContaining("Ends.many: failedIf looks at #result, and a Flux has many")
        .satisfies(
            e ->
                assertThat(e)
                    .hasStackTraceContaining("Ends")
                    .message()
                    .doesNotContain("Ends.good", "Ends.wild"));
  }

  @Test
  void onlyAccountsThatTheRuleCountsAreForgivenAndNeverTheAddressAlone() {
    assertThatThrownBy(
            () ->
                start(
                    Forgiving.class,
                    "sluice.facets.peer=client-address",
                    "sluice.rules.Login.by[0]=login",
                    "sluice.rules.Login.by[1]=login+ip",
                    "sluice.rules.Login.by[2]=ip",
                    "sluice.rules.Login.by[3]=peer",
                    "sluice.rules.Login.limit=3 per 30m"))
        .hasStackTraceContaining("Login.address: forgive is 'ip', the client's address alone")
        .hasStackTraceContaining("Login.addressByAnotherName: forgive is 'peer', the client's")
        .hasStackTraceContaining(
            "Login.other: forgive is 'login+member', and rule 'Login' does not count by that"
                + " (expected: one of [login, login+ip, ip, peer])")
        .hasStackTraceContaining("Login.always: forgive is set without count = ON_FAILURE")
        .satisfies(e -> assertThat(e).message().doesNotContain("Login.good"));
  }

  /** What somebody says about other facets changes nothing. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "sluice.facets.account.claim=account_id",
        "sluice.facets.login=caller",
        "sluice.facets.login.query=login",
        "sluice.enabled=true"
      })
  void misspeltFacetIsFoundAndGoodOnesNeedNoEntry(String facet) {
    assertThatThrownBy(
            () ->
                start(
                    Supplied.class,
                    facet,
                    "sluice.rules.Login.by=login",
                    "sluice.rules.Login.limit=3 per 30m",
                    "sluice.rules.Tenant.by=tenant",
                    "sluice.rules.Tenant.limit=3 per 30m"))
        .hasStackTraceContaining(
            "Desk.misspelt: by supplies 'lgin', which rule 'Login' does not count by (did you mean"
                + " 'login'?)")
        .satisfies(e -> assertThat(e).message().doesNotContain("Desk.good", "ofABean"));
  }

  @Test
  void facetOfTheCallerThatNobodySuppliesStopsTheStart() {
    assertThatThrownBy(
            () ->
                App.start(
                    WebApplicationType.SERVLET,
                    Plain.class,
                    "sluice.facets.login=caller",
                    "sluice.rules.Login.by=login",
                    "sluice.rules.Login.limit=3 per 30m",
                    "sluice.routes[0].path=/login",
                    "sluice.routes[0].rule=Login"))
        .hasStackTraceContaining(
            "sluice.routes[0]: rule 'Login' counts by 'login', which nothing supplies");
  }

  @Test
  void overrideByAFacetThatNothingSuppliesStopsTheStart() {
    assertThatThrownBy(
            () ->
                App.start(
                    WebApplicationType.SERVLET,
                    Plain.class,
                    "sluice.rules.Api.by=ip",
                    "sluice.rules.Api.limit=3 per 30m",
                    "sluice.rules.Api.exempt[0].pi=192.0.2.1",
                    "sluice.routes[0].path=/api",
                    "sluice.routes[0].rule=Api"))
        .hasStackTraceContaining(
            "rule 'Api': an override or exemption compares 'pi', which nothing supplies");
  }

  @Test
  void bodyOfRefusalsHasAMediaType() {
    assertThatThrownBy(() -> start(NoMediaType.class))
        .hasStackTraceContaining("contentType is 'json' (expected: a media type such as");
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
  void oneLineSaysWhatIsOn(CapturedOutput output) {
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
