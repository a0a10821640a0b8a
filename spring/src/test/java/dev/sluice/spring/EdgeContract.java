package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.net.http.HttpResponse;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** What holds on MVC and WebFlux, on every store. Each test has callers of its own. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class EdgeContract {
  private App app;

  abstract App start();

  @BeforeAll
  void begin() {
    app = start();
  }

  @AfterAll
  void end() {
    app.close();
  }

  private List<Integer> statuses(int times, String path, String... headers) {
    return IntStream.range(0, times).mapToObj(i -> app.get(path, headers).statusCode()).toList();
  }

  @Test
  void refusedMethodAnswers429WithHeadersAndProblem() {
    HttpResponse<String> first = app.get("/play?member=ann");
    app.get("/play?member=ann");
    HttpResponse<String> refused = app.get("/play?member=ann");

    assertThat(first.body()).isEqualTo("played");
    assertThat(App.header(first, "X-RateLimit-Limit")).isEqualTo("2");
    assertThat(App.header(first, "X-RateLimit-Remaining")).isEqualTo("1");
    assertThat(refused.statusCode()).isEqualTo(429);
    assertThat(Integer.parseInt(App.header(refused, "Retry-After"))).isBetween(1, 60);
    assertThat(App.header(refused, "RateLimit-Policy")).startsWith("\"Play\";q=2;w=60");
    assertThat(App.header(refused, "Content-Type")).isEqualTo("application/problem+json");
    assertThat(refused.body()).contains("\"violated-policies\":[\"Play\"]", "quota-exceeded");
    assertThat(app.get("/play?member=bob").statusCode()).isEqualTo(200);
  }

  @Test
  void beansThatAreNoControllersAreLimitedToo() {
    assertThat(statuses(3, "/work?member=work")).containsExactly(200, 200, 429);
  }

  @Test
  void methodThatWaitsMayBeCalledBehindOneThatAsked() {
    assertThat(statuses(3, "/nested?member=nest&promo=n")).containsExactly(200, 200, 429);
  }

  @Test
  void onlyFailuresCountAndThenTheLockHasAnEnd() {
    List<Integer> good = statuses(5, "/code?login=ann&code=42");
    List<Integer> bad = statuses(3, "/code?login=ann&code=1");
    HttpResponse<String> locked = app.get("/code?login=ann&code=42");

    assertThat(good).containsOnly(200);
    assertThat(bad).containsOnly(401);
    assertThat(locked.statusCode()).isEqualTo(429);
    assertThat(locked.body()).contains("abnormal-usage-detected").contains("\"restrictedUntil\":1");
  }

  @Test
  void successLeavesTheHeadersAsBeforeAndFailureTakesOne() {
    assertThat(remaining("/code?login=cleo&code=42")).isEqualTo("3");
    assertThat(remaining("/code?login=cleo&code=1")).isEqualTo("2");
    assertThat(remaining("/code?login=cleo&code=42")).isEqualTo("2");
  }

  private String remaining(String path) {
    return App.header(app.get(path), "X-RateLimit-Remaining");
  }

  @Test
  void guessesSentAtOnceGetThroughNoMoreOftenThanTheLimit() {
    List<CompletableFuture<Integer>> sent =
        IntStream.range(0, 30)
            .mapToObj(i -> app.statusOf("/code?login=guessed&code=" + (100 + i)))
            .toList();

    List<Integer> answers = sent.stream().map(CompletableFuture::join).toList();

    assertThat(answers.stream().filter(status -> status == 401)).hasSize(3);
    assertThat(answers.stream().filter(status -> status == 429)).hasSize(27);
  }

  @Test
  void rightLoginsAtOnceLockNobody() {
    String login = "crowd" + System.nanoTime(); // the page outlives an application
    List<CompletableFuture<Integer>> sent =
        IntStream.range(0, 5).mapToObj(i -> app.statusOf("/door?login=" + login)).toList();
    await().until(() -> sent.stream().filter(CompletableFuture::isDone).count() == 2);

    Shop.DOORS.get(login).complete("welcome");

    assertThat(sent.stream().map(CompletableFuture::join).sorted())
        .containsExactly(200, 200, 200, 429, 429);
    assertThat(statuses(4, "/door?login=" + login)).containsOnly(200);
  }

  @Test
  void conditionSaysWhatAFailureIs() {
    assertThat(statuses(5, "/answer?login=dan&say=yes")).containsOnly(200);
    assertThat(statuses(4, "/answer?login=dan&say=no")).containsExactly(200, 200, 200, 429);
  }

  @Test
  void asynchronousEndsAreSeen() {
    assertThat(statuses(5, "/later?login=eve&ok=true")).containsOnly(200);
    assertThat(statuses(4, "/later?login=eve&ok=false")).containsExactly(401, 401, 401, 429);
  }

  @Test
  void severalRulesAreTakenAllOrNothing() {
    assertThat(statuses(2, "/both?member=fay&promo=a")).containsOnly(200);

    HttpResponse<String> refused = app.get("/both?member=fay&promo=a");

    assertThat(refused.statusCode()).isEqualTo(429);
    assertThat(refused.body()).contains("\"violated-policies\":[\"Play\"]");
    assertThat(remaining("/bulk?member=fay&promo=a&n=0")).isEqualTo("1");
  }

  @Test
  void costIsAnExpression() {
    assertThat(statuses(1, "/bulk?member=gil&promo=a&n=2")).containsExactly(200);
    assertThat(statuses(1, "/bulk?member=gil&promo=a&n=2")).containsExactly(429);
    assertThat(statuses(1, "/bulk?member=gil&promo=a&n=1")).containsExactly(200);
    assertThat(App.header(app.get("/bulk?member=gil&promo=a&n=9"), "Retry-After"))
        .isEqualTo("none");
  }

  @Test
  void routeCountsByItsPatternHoweverThePathIsSpelled() {
    List<String> spellings = List.of("/api/1", "/api/2", "/api/%31", "/%61pi/3", "/api/4;v=1");

    for (String path : spellings) {
      assertThat(app.get(path, "X-Key", "k1").statusCode()).as(path).isEqualTo(200);
    }

    HttpResponse<String> refused = app.get("/api/6", "X-Key", "k1");
    assertThat(refused.statusCode()).isEqualTo(429);
    assertThat(App.header(refused, "X-RateLimit-Limit")).isEqualTo("5");
    assertThat(app.send("POST", "/api/6", "X-Key", "k1").statusCode()).isEqualTo(405);
    assertThat(app.get("/free").statusCode()).isEqualTo(200);
    assertThat(App.header(app.get("/free"), "X-RateLimit-Limit")).isEqualTo("none");
  }

  @Test
  void headIsCountedWhereGetIs() {
    for (int i = 0; i < 5; i++) {
      assertThat(app.send(i % 2 == 0 ? "HEAD" : "GET", "/api/1", "X-Key", "head").statusCode())
          .isEqualTo(200);
    }

    assertThat(app.send("HEAD", "/api/1", "X-Key", "head").statusCode()).isEqualTo(429);
    assertThat(app.get("/api/1", "X-Key", "head").statusCode()).isEqualTo(429);
    // Spring answers it by itself, no handler of GET does.
    assertThat(app.send("OPTIONS", "/api/1", "X-Key", "head").statusCode()).isEqualTo(200);
  }

  @Test
  void methodInAFormCountsAsTheMethodThatHandlersSee() {
    assertThat(app.post("/items/1?member=iris", "_method=delete").body()).isEqualTo("deleted");
    assertThat(app.send("DELETE", "/items/1?member=iris").body()).isEqualTo("deleted");

    assertThat(app.post("/items/1?member=iris", "_method=delete").statusCode()).isEqualTo(429);
    assertThat(app.post("/items/1?member=iris", "_method=post").body()).isEqualTo("posted");
  }

  @Test
  void requestWithoutAnIdentityIsABadRequest() {
    HttpResponse<String> nobody = app.get("/api/1");

    assertThat(nobody.statusCode()).isEqualTo(400);
    assertThat(nobody.body()).contains("rule 'Api'").contains("key");
  }

  @Test
  void exceptionInAResolverLetsNothingPass() {
    assertThat(app.get("/tenant", "X-Tenant", "boom").statusCode()).isEqualTo(500);
    assertThat(app.get("/tenants/1", "X-Tenant", "boom").statusCode()).isEqualTo(500);
    assertThat(statuses(2, "/tenant", "X-Tenant", "fine")).containsExactly(200, 429);
    assertThat(statuses(2, "/tenants/1", "X-Tenant", "other")).containsExactly(200, 429);
  }
}
