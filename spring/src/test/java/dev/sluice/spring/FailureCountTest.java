package dev.sluice.spring;

import static dev.sluice.spring.RateLimit.Count.ON_FAILURE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limiter;
import dev.sluice.spring.testing.SluiceTesting;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.FutureTask;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.http.ResponseEntity;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Which ends of a call count as failures. The limit is 3; each test has callers of its own. */
class FailureCountTest {
  private static App app;
  private static Door door;

  /** Ends as the test wants it to. */
  static class Door {
    @RateLimit(value = "Code", by = "login=#login", count = ON_FAILURE)
    public String open(String login, Callable<String> end) throws Exception {
      return end.call();
    }

    @RateLimit(value = "Code", by = "login=#login", count = ON_FAILURE)
    public CompletableFuture<String> stage(String login, CompletableFuture<String> end) {
      return end;
    }

    @RateLimit(value = "Code", by = "login=#login", count = ON_FAILURE)
    public Mono<String> mono(String login, Mono<String> end) {
      return end;
    }

    @RateLimit(value = "Code", by = "login=#login", count = ON_FAILURE)
    public Flux<String> flux(String login, Flux<String> end) {
      return end;
    }

    @RateLimit(value = "Code", by = "login=#login", count = ON_FAILURE)
    public @Nullable Object anything(String login, @Nullable Object end) {
      return end;
    }

    @RateLimit(
        value = "Code",
        by = "login=#login",
        count = ON_FAILURE,
        failedIf = "#result.length() > 3")
    public @Nullable String condition(String login, Callable<@Nullable String> end)
        throws Exception {
      return end.call();
    }

    @RateLimit(
        value = "Code",
        by = "login=#login",
        count = ON_FAILURE,
        failedIf = "#result.length() > 3")
    public CompletableFuture<String> conditionLater(String login, CompletableFuture<String> end) {
      return end;
    }

    @RateLimit(
        value = "Code",
        by = "login=#login",
        count = ON_FAILURE,
        failedIf = "#result.length() > 3")
    public Mono<String> conditionReactive(String login, Mono<String> end) {
      return end;
    }

    @RateLimit(
        value = "Login",
        by = {"login=#login", "ip=#ip"},
        count = ON_FAILURE,
        forgive = {"login", "ip+login"})
    public boolean forgiving(String login, String ip, boolean ok) {
      return passed(ok);
    }

    @RateLimit(value = "Code", by = "login=#login", count = ON_FAILURE, forgive = "login")
    @RateLimit(value = "Other", by = "login=#login", count = ON_FAILURE)
    public boolean forgivingOne(String login, boolean ok) {
      return passed(ok);
    }

    private static boolean passed(boolean ok) {
      if (!ok) {
        throw new IllegalStateException("wrong");
      }
      return true;
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @Import(SluiceTesting.class)
  static class Main {
    @Bean
    Door door() {
      return new Door();
    }
  }

  @BeforeAll
  static void start() {
    app =
        App.start(
            WebApplicationType.NONE,
            Main.class,
            "sluice.rules.Code.by=login",
            "sluice.rules.Code.limit=3 per 30m",
            "sluice.rules.Code.lock=30m",
            "sluice.rules.Other.by=login",
            "sluice.rules.Other.limit=3 per 30m",
            "sluice.rules.Login.by[0]=login",
            "sluice.rules.Login.by[1]=login+ip",
            "sluice.rules.Login.by[2]=ip",
            "sluice.rules.Login.limit=3 per 30m");
    door = app.bean(Door.class);
  }

  @AfterAll
  static void stop() {
    app.close();
  }

  private static Decision look(String rule, String... identity) {
    return app.bean(Limiter.class).inspect(Call.of(rule, of(identity)));
  }

  private static Identity of(String... facets) {
    Map<String, String> all = new LinkedHashMap<>();
    for (int i = 0; i < facets.length; i += 2) {
      all.put(facets[i], facets[i + 1]);
    }
    return Identity.of(all);
  }

  /** What is left of each account that an identity names. */
  private static List<Long> left(String rule, String... identity) {
    return look(rule, identity).balances().stream().map(each -> each.remaining()).toList();
  }

  private static String fail() {
    throw new IllegalStateException("wrong");
  }

  @Test
  void rightCallsAtOnceLockNobody() throws Exception {
    CompletableFuture<String> end = new CompletableFuture<>();
    List<CompletableFuture<String>> calls =
        Stream.generate(() -> door.stage("crowd", end)).limit(5).toList();

    assertThat(calls.stream().filter(CompletableFuture::isCompletedExceptionally)).hasSize(2);
    end.complete("right");
    calls.stream()
        .filter(call -> !call.isCompletedExceptionally())
        .forEach(CompletableFuture::join);

    assertThat(look("Code", "login", "crowd").locked()).isFalse();
    assertThat(left("Code", "login", "crowd")).containsExactly(3L);
    assertThat(door.open("crowd", () -> "right")).isEqualTo("right");
  }

  @Test
  void failureThatWasOpenCountsAndThenTheLimitLocks() {
    CompletableFuture<String> end = new CompletableFuture<>();
    List<CompletableFuture<String>> calls =
        Stream.generate(() -> door.stage("guesses", end)).limit(5).toList();

    end.completeExceptionally(new IllegalStateException("wrong"));
    calls.forEach(call -> assertThatThrownBy(call::join));

    assertThat(left("Code", "login", "guesses")).containsExactly(0L);
    assertThatThrownBy(() -> door.open("guesses", () -> "right"))
        .isInstanceOfSatisfying(
            RateLimitedException.class, e -> assertThat(e.decision().locked()).isTrue());
  }

  @Test
  void callThatNobodySettlesCountsWhenItsHoldEnds() throws Exception {
    for (int i = 0; i < 3; i++) {
      assertThat(door.stage("died", new CompletableFuture<>())).isNotDone();
    }
    assertThatThrownBy(() -> door.open("died", () -> "right"))
        .isInstanceOfSatisfying(
            RateLimitedException.class, e -> assertThat(e.decision().locked()).isFalse());

    app.bean(SluiceTesting.class).advance(Duration.ofMinutes(1));

    assertThatThrownBy(() -> door.open("died", () -> "right"))
        .isInstanceOfSatisfying(
            RateLimitedException.class, e -> assertThat(e.decision().locked()).isTrue());
  }

  @Test
  void successForgivesTheNamedAccountsAndNeverTheAddress() {
    for (int i = 0; i < 2; i++) {
      assertThatThrownBy(() -> door.forgiving("ann", "192.0.2.1", false)).hasMessage("wrong");
    }
    assertThat(left("Login", "login", "ann", "ip", "192.0.2.1")).containsExactly(1L, 1L, 1L);

    assertThat(door.forgiving("ann", "192.0.2.1", true)).isTrue();

    assertThat(left("Login", "login", "ann", "ip", "192.0.2.1")).containsExactly(3L, 3L, 1L);
  }

  @Test
  void eachRuleForgivesOnlyItsOwnAccounts() {
    for (int i = 0; i < 2; i++) {
      assertThatThrownBy(() -> door.forgivingOne("bea", false)).hasMessage("wrong");
    }

    assertThat(door.forgivingOne("bea", true)).isTrue();

    assertThat(left("Code", "login", "bea")).containsExactly(3L);
    assertThat(left("Other", "login", "bea")).containsExactly(1L);
  }

  @Test
  void conditionThatFailsCountsAndTheMethodsOwnEndIsPassedOn() throws Exception {
    assertThatThrownBy(() -> door.condition("cond", FailureCountTest::fail)).hasMessage("wrong");
    assertThat(door.condition("cond", () -> null)).isNull();
    assertThat(left("Code", "login", "cond")).containsExactly(1L);
    assertThat(door.condition("cond", () -> "yes")).isEqualTo("yes");
    assertThat(left("Code", "login", "cond")).containsExactly(1L);

    CompletableFuture<String> failed =
        door.conditionLater("later", CompletableFuture.failedFuture(new Exception("own")));
    assertThatThrownBy(failed::get).hasRootCauseMessage("own");
    assertThatThrownBy(
            () ->
                door.conditionReactive("later", Mono.error(new IllegalStateException("own")))
                    .block())
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("own");
    assertThat(left("Code", "login", "later")).containsExactly(1L);
  }

  @Test
  void readerWhoStopsEarlyHasNotFailed() {
    for (int i = 0; i < 5; i++) {
      List<String> read =
          door.flux("reader", Flux.just("a", "b", "c")).take(1).collectList().block();
      assertThat(read).containsExactly("a");
    }

    assertThat(left("Code", "login", "reader")).containsExactly(3L);
  }

  @Test
  void fluxThatFailsHasFailed() {
    Flux<String> failing =
        Flux.concat(Mono.just("a"), Mono.error(new IllegalStateException("own")));

    assertThatThrownBy(() -> door.flux("broken", failing).collectList().block()).hasMessage("own");

    assertThat(left("Code", "login", "broken")).containsExactly(2L);
  }

  @Test
  void callThatIsCancelledBeforeThereIsAResultCounts() {
    Disposable mono = door.mono("gone", Mono.never()).subscribe();
    Disposable flux = door.flux("gone", Flux.never()).subscribe();
    mono.dispose();
    flux.dispose();
    door.stage("gone", new CompletableFuture<>()).cancel(true);

    assertThatThrownBy(() -> door.open("gone", () -> "right"))
        .isInstanceOfSatisfying(
            RateLimitedException.class, e -> assertThat(e.decision().locked()).isTrue());
  }

  @Test
  void cancelReachesTheMethodsOwnStage() {
    CompletableFuture<String> own = new CompletableFuture<>();
    CompletableFuture<String> returned = door.stage("cancel", own);

    assertThat(returned.cancel(true)).isTrue();

    assertThat(own).isCancelled();
    assertThatThrownBy(returned::join).isInstanceOf(CancellationException.class);
  }

  @Test
  void stageEndsAsTheMethodsOwnDoes() {
    IllegalStateException own = new IllegalStateException("own");

    assertThatThrownBy(door.stage("ends", CompletableFuture.failedFuture(own))::join)
        .isInstanceOf(CompletionException.class)
        .cause()
        .isSameAs(own);
    assertThat(door.stage("ends", CompletableFuture.completedFuture("right")).join())
        .isEqualTo("right");
    assertThat(left("Code", "login", "ends")).containsExactly(2L);
  }

  static Stream<Object> resultsThatCanStillFail() {
    return Stream.of(
        new FutureTask<>(() -> fail()),
        Optional.of(new CompletableFuture<>()),
        ResponseEntity.ok(Mono.fromCallable(FailureCountTest::fail)),
        ResponseEntity.of(Optional.of(List.of(new CompletableFuture<>()))),
        Stream.of("a").map(each -> fail()),
        List.of("a").iterator(),
        CompletableFuture.completedFuture(Stream.of("a")),
        Mono.just(Optional.of(Mono.just("a"))));
  }

  @ParameterizedTest
  @MethodSource("resultsThatCanStillFail")
  void resultThatCanStillFailCounts(Object result) {
    String login = "open " + System.identityHashCode(result);

    Object returned = door.anything(login, result);
    if (returned instanceof Mono<?> mono) {
      assertThat(mono.block()).isNotNull();
    } else if (returned instanceof CompletableFuture<?> stage) {
      assertThat(stage.join()).isNotNull();
    }

    assertThat(left("Code", "login", login)).containsExactly(2L);
  }

  @Test
  void everyOtherResultIsASuccess() {
    for (Object each : new Object[] {"a", List.of("a"), Optional.empty(), ResponseEntity.ok("a")}) {
      assertThat(door.anything("values", each)).isEqualTo(each);
    }
    assertThat(door.anything("values", null)).isNull();
    assertThat(((Mono<?>) Optional.of(door.anything("values", Mono.just("a"))).get()).block())
        .isEqualTo("a");

    assertThat(left("Code", "login", "values")).containsExactly(3L);
  }
}
