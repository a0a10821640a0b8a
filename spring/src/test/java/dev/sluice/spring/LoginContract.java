package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.Lock;
import dev.sluice.Rule;
import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.spring.login.LoginRefusedException;
import dev.sluice.spring.testing.SluiceTesting;
import java.net.URLEncoder;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.security.authentication.InternalAuthenticationServiceException;
import org.springframework.security.core.userdetails.User;
import org.springframework.security.core.userdetails.UserDetails;
import org.springframework.security.crypto.password.PasswordEncoder;

/** What {@code sluice.login.rules} does, on MVC and on WebFlux alike. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class LoginContract {
  static final String[] SETTINGS = {"sluice.login.rules=Pair,Address,Account"};

  private static final Duration WINDOW = Duration.ofMinutes(30);
  private static final Duration SHORT_LOCK = Duration.ofMinutes(10);
  private static final String RIGHT = "secret";
  private static final String CRASH = "crash";
  private static final String[] BROWSER = {"Accept", "text/html,application/xhtml+xml;q=0.9"};

  App app;
  SluiceTesting sluice;

  abstract App open();

  /** Counts how often a password was looked at. */
  static final class CountingEncoder implements PasswordEncoder {
    final AtomicInteger checks = new AtomicInteger();

    @Override
    public String encode(CharSequence password) {
      return password.toString();
    }

    @Override
    public boolean matches(CharSequence password, String encoded) {
      checks.incrementAndGet();
      if (CRASH.contentEquals(password)) {
        throw new IllegalStateException("broke after the password was looked at");
      }
      try {
        Thread.sleep(5); // as a slow hash would, so that logins at once overlap
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
      return encoded.contentEquals(password);
    }
  }

  /** Rules and people. */
  @Configuration(proxyBeanMethods = false)
  static class Common {
    @Bean
    RuleSource loginRules() {
      return RuleSource.fixed(
          Rules.of(
              rule("Pair", 3, "login+ip", WINDOW),
              rule("Address", 10, "ip", SHORT_LOCK),
              rule("Account", 40, "login", WINDOW)));
    }

    private static Rule rule(String name, int failures, String by, Duration lock) {
      return Rule.builder(name)
          .by(by)
          .limit(Limit.slidingLog(failures, WINDOW))
          .lock(Lock.of(lock).onLimit())
          .build();
    }

    @Bean
    PasswordEncoder passwordEncoder() {
      return new CountingEncoder();
    }
  }

  /** Who is there; "broken" stands for a database that is not. */
  static UserDetails find(String name) {
    if (name.equals("broken")) {
      throw new InternalAuthenticationServiceException("the database is away");
    }
    boolean known = List.of("ann", "Ann", "bob", "disabled", "expired").contains(name);
    return known
        ? User.withUsername(name)
            .password(RIGHT)
            .roles("USER")
            .disabled(name.equals("disabled"))
            .credentialsExpired(name.equals("expired"))
            .build()
        : null;
  }

  @BeforeAll
  void start() {
    app = open();
    sluice = app.bean(SluiceTesting.class);
  }

  @AfterAll
  void stop() {
    app.close();
  }

  @BeforeEach
  void freshUsage() {
    sluice.reset();
  }

  @Test
  void basicCountsFailuresOnlyAndLocksWithTheLastOfThem() {
    assertThat(statuses(8, "ann", RIGHT)).containsOnly(200);
    assertThat(statuses(3, "ann", "wrong")).containsOnly(401);

    HttpResponse<String> refused = app.getAs("ann", RIGHT, "/api/x");

    assertThat(refused.statusCode()).isEqualTo(429);
    assertThat(App.header(refused, "Retry-After")).isEqualTo("1800");
    assertThat(App.header(refused, "X-RateLimit-Remaining")).isEqualTo("0");
    assertThat(restrictedUntil(refused)).isEqualTo(lockEnd());
    assertThat(statuses(1, "bob", RIGHT)).containsOnly(200);

    sluice.advance(Duration.ofMinutes(30));
    assertThat(statuses(1, "ann", RIGHT)).containsOnly(200);
  }

  @Test
  void refusedLoginIsRefusedBeforeItsPasswordIsChecked() {
    int before = checks();
    statuses(20, "ann", "wrong");

    assertThat(checks() - before).isEqualTo(3);
  }

  @Test
  void successForgivesTheLoginAndNeverTheAddress() {
    for (int i = 0; i < 4; i++) {
      assertThat(statuses(2, "ann", "wrong")).containsOnly(401);
      assertThat(statuses(1, "ann", RIGHT)).containsOnly(200);
    }
    assertThat(statuses(2, "carl", "wrong")).containsOnly(401);

    // Ten failures from this address, whoever was signed in between.
    assertThat(statuses(1, "bob", RIGHT)).containsOnly(429);
  }

  @Test
  void failureOfALoginThatDoesNotExistIsAnsweredLikeAnyOther() {
    List<String> known = IntStream.range(0, 5).mapToObj(i -> answer("ann")).toList();
    sluice.reset();
    List<String> unknown = IntStream.range(0, 5).mapToObj(i -> answer("nobody")).toList();

    assertThat(unknown).isEqualTo(known);
  }

  private String answer(String login) {
    HttpResponse<String> answer = app.getAs(login, "wrong", "/api/x");
    return "%d %s %s %s"
        .formatted(
            answer.statusCode(),
            App.header(answer, "Retry-After"),
            App.header(answer, "X-RateLimit-Remaining"),
            answer.body().replaceAll("\"timestamp\":\"[^\"]*\"|\"requestId\":\"[^\"]*\"", ""));
  }

  @Test
  void spellingsOfALoginShareItsTries() {
    assertThat(List.of("Ann", " ANN ", "\uff41nn", "a\u0000n\u0007n", "ann"))
        .extracting(login -> app.post("/login", form(login, "wrong"), "Accept", "*/*").statusCode())
        .containsExactly(302, 302, 302, 429, 429);
  }

  @Test
  void longLoginIsCounted() {
    String longest = "x".repeat(5_000);
    assertThat(IntStream.range(0, 5).map(i -> app.post("/login", form(longest, "y")).statusCode()))
        .containsExactly(302, 302, 302, 429, 429);
  }

  @Test
  void paddingBeforeALoginBuysNoTries() {
    // Servlets trim what is typed into a form, but leave characters that nobody can see.
    assertThat(IntStream.range(0, 4).map(i -> tried("\u200b".repeat(1_024 + i) + "ann")))
        .containsExactly(302, 302, 302, 429);
    assertThat(tried("ann")).isEqualTo(429);
    assertThat(List.of(" ", "\u0001")).allMatch(pad -> tried(pad.repeat(1_024) + "ann") == 429);

    sluice.reset();
    assertThat(IntStream.range(0, 4).map(i -> tried("\u200b".repeat(1 + i))))
        .containsExactly(302, 302, 302, 429);
    assertThat(IntStream.range(0, 4).map(i -> tried("\u200b".repeat(5_000 + i) + "ann")))
        .containsExactly(302, 302, 302, 429);
  }

  private int tried(String login) {
    return app.post("/login", form(login, "wrong")).statusCode();
  }

  @Test
  void accountOfAnotherSpellingDoesNotClearTheFailures() {
    assertThat(statuses(2, "ann", "wrong")).containsOnly(401);
    assertThat(statuses(1, "Ann", RIGHT)).containsOnly(200);

    assertThat(statuses(2, "ann", "wrong")).containsExactly(401, 429);
  }

  @Test
  void guessesAreNotFreeWhileTheSecondOfTwoUserDatabasesIsAway() {
    assertThat(odd("several")).containsOnlyOnce(429).endsWith(429);
  }

  @Test
  void loginThatBreaksAfterItsPasswordWasLookedAtCounts() {
    assertThat(statuses(4, "ann", CRASH)).containsOnlyOnce(429).endsWith(429);
  }

  @Test
  void loginThatSignsNobodyInCounts() {
    assertThat(odd("nothing")).containsOnlyOnce(429).endsWith(429);
    assertThat(odd("unsure")).containsOnlyOnce(429).endsWith(429);
  }

  /** Four logins by a manager that behaves as its path says. */
  private List<Integer> odd(String path) {
    return IntStream.range(0, 4)
        .mapToObj(i -> app.getAs(path, "wrong", "/%s/x".formatted(path)).statusCode())
        .toList();
  }

  @Test
  void loginWithoutANameCountsByItsAddress() {
    assertThat(IntStream.range(0, 11).map(i -> app.post("/login", form("", "y")).statusCode()))
        .containsOnlyOnce(429)
        .endsWith(429);
  }

  @Test
  void browserIsSentBackToTheLoginPageWhichFindsTheCountdown() {
    HttpResponse<String> first = app.get("/page", BROWSER);
    String session = cookie(first, "SESSION");
    for (int i = 0; i < 3; i++) {
      postForm("ann", "wrong", session);
    }

    // The third failure began the lock: the page gets it at once, once, and nothing but a page.
    app.get("/page", "Cookie", session);
    assertThat(page(session)).isEqualTo("until " + lockEnd());
    assertThat(page(session)).isEqualTo("until null");

    HttpResponse<String> refused = postForm("ann", RIGHT, session);
    assertThat(refused.statusCode()).isEqualTo(302);
    assertThat(App.header(refused, "Location")).endsWith("/login?error");
    assertThat(App.header(refused, "Retry-After")).isEqualTo("1800");
    assertThat(page(session)).isEqualTo("until " + lockEnd());

    sluice.advance(Duration.ofMinutes(30));
    HttpResponse<String> welcome = postForm("ann", RIGHT, session);
    assertThat(App.header(welcome, "Location")).doesNotContain("error");
  }

  @Test
  void countdownEndsWhenALoginPassesAndNotWithALockThatEndsBefore() {
    String session = cookie(app.get("/page", BROWSER), "SESSION");
    for (int i = 0; i < 10; i++) {
      postForm("nobody" + i, "wrong", session);
    }
    String until = "until " + lockEnd();

    assertThat(page(session)).isEqualTo(until);
    postForm("ann", RIGHT, session);
    assertThat(page(session)).isEqualTo(until);

    sluice.advance(SHORT_LOCK);
    assertThat(App.header(postForm("ann", RIGHT, session), "Location")).contains("error");
    assertThat(page(session)).isEqualTo(until);

    sluice.advance(WINDOW.minus(SHORT_LOCK));
    assertThat(App.header(postForm("ann", RIGHT, session), "Location")).doesNotContain("error");
  }

  private String page(String session) {
    return app.get("/page", "Accept", BROWSER[1], "Cookie", session).body();
  }

  /** The end of a lock or a window that begins now, in whole milliseconds, rounded up. */
  private long lockEnd() {
    return sluice.instant().plus(WINDOW).plusNanos(999_000).toEpochMilli();
  }

  private HttpResponse<String> postForm(String login, String password, String session) {
    return app.post("/login", form(login, password), "Accept", BROWSER[1], "Cookie", session);
  }

  @Test
  void programThatSendsAFormIsAnswered() {
    IntStream.range(0, 3).forEach(i -> app.post("/login", form("ann", "wrong")));

    HttpResponse<String> refused = app.post("/login", form("ann", RIGHT));

    assertThat(refused.statusCode()).isEqualTo(429);
    assertThat(restrictedUntil(refused)).isEqualTo(lockEnd());
  }

  @Test
  void brokenUserDatabaseIsNoFailedLogin() {
    assertThat(statuses(15, "broken", RIGHT)).doesNotContain(429);
    assertThat(statuses(1, "ann", RIGHT)).containsOnly(200);
  }

  @Test
  void accountThatIsDisabledCountsAndAnExpiredPasswordDoesNot() {
    assertThat(statuses(5, "expired", RIGHT)).containsOnly(401);
    assertThat(statuses(4, "disabled", RIGHT)).containsExactly(401, 401, 401, 429);
  }

  @Test
  void guessesSentAtOnceAreCheckedNoMoreOftenThanTheLimitSays() {
    int before = checks();
    List<Integer> statuses = atOnce(40, "ann", "wrong");

    assertThat(checks() - before).isLessThanOrEqualTo(3);
    assertThat(statuses).containsOnly(401, 429);
    assertThat(statuses(1, "ann", RIGHT)).containsOnly(429);
  }

  @Test
  void rightLoginsSentAtOnceLockNobody() {
    assertThat(atOnce(40, "bob", RIGHT)).contains(200).containsAnyOf(200, 429);

    assertThat(statuses(1, "bob", RIGHT)).containsOnly(200);
  }

  private List<Integer> atOnce(int times, String login, String password) {
    List<CompletableFuture<Integer>> all =
        IntStream.range(0, times).mapToObj(i -> app.statusAs(login, password, "/api/x")).toList();
    return all.stream().map(each -> each.orTimeout(30, TimeUnit.SECONDS).join()).toList();
  }

  @Test
  void managerThatIsABeanIsGuardedWhoeverAsksIt() {
    assertThat(
            IntStream.range(0, 4).map(i -> app.post("/own?login=ann&password=no", "").statusCode()))
        .containsExactly(401, 401, 401, 429);
  }

  List<Integer> statuses(int times, String login, String password) {
    return IntStream.range(0, times)
        .mapToObj(i -> app.getAs(login, password, "/api/x").statusCode())
        .toList();
  }

  int checks() {
    return ((CountingEncoder) app.bean(PasswordEncoder.class)).checks.get();
  }

  static String form(String login, String password) {
    return "username=%s&password=%s"
        .formatted(
            URLEncoder.encode(login, StandardCharsets.UTF_8),
            URLEncoder.encode(password, StandardCharsets.UTF_8));
  }

  static String cookie(HttpResponse<String> answer, String name) {
    return answer.headers().allValues("Set-Cookie").stream()
        .filter(each -> each.startsWith(name))
        .map(each -> each.substring(0, each.indexOf(';')))
        .findFirst()
        .orElseThrow();
  }

  static long restrictedUntil(HttpResponse<String> answer) {
    Matcher found = Pattern.compile("\"restrictedUntil\":([0-9]+)").matcher(answer.body());
    assertThat(found.find()).as(answer.body()).isTrue();
    return Long.parseLong(found.group(1));
  }

  static String attribute() {
    return LoginRefusedException.RESTRICTED_UNTIL;
  }
}
