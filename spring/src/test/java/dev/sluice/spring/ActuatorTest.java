package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Identity;
import dev.sluice.Limiter;
import java.io.UncheckedIOException;
import java.net.URLEncoder;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

@ExtendWith(OutputCaptureExtension.class)
class ActuatorTest {
  private static final String[] SETTINGS =
      Stream.of(
              Shop.on("memory"),
              new String[] {
                "management.endpoints.web.exposure.include=*",
                "management.endpoint.health.show-details=always",
              })
          .flatMap(Arrays::stream)
          .toArray(String[]::new);

  @ParameterizedTest
  @CsvSource({"SERVLET", "REACTIVE"})
  void rulesLocksLookLiftMetricsAndHealth(WebApplicationType type) {
    Class<?> main = type == WebApplicationType.SERVLET ? Shop.Mvc.class : Shop.WebFlux.class;
    try (App app = App.start(type, main, SETTINGS)) {
      for (int i = 0; i < 4; i++) {
        app.get("/code?login=ann&code=1");
      }

      assertThat(app.get("/actuator/sluice").body())
          .contains("\"Code\":\"Code: 3 per 30m", "\"/api/**\"", "Pages.code\":[\"Code\"]");
      assertThat(app.get("/actuator/sluice/rules").body()).contains("\"Play\"");
      assertThat(app.get("/actuator/sluice/locks").body())
          .contains("\"identity\":\"login=ann\"", "\"rule\":\"Code\"", "\"until\"");
      assertThat(app.get("/actuator/sluice/locks/Play").body())
          .isEqualTo("{\"locks\":[],\"total\":0}");
      assertThat(app.get("/actuator/sluice/locks/Nope").statusCode()).isEqualTo(404);
      assertThat(app.get("/actuator/sluice/look/Code/login=ann").body())
          .contains("\"allowed\":false", "\"restrictedUntil\":1");
      assertThat(app.send("DELETE", "/actuator/sluice/locks/Code/login=ann").body())
          .startsWith(
              "{\"lifted\":true,\"says\":\"lifted; the next call passes: login=ann has 3 of 3")
          .contains("\"now\":{\"allowed\":true,\"limits\":[{\"identity\":\"login=ann\"");
      assertThat(app.get("/actuator/sluice/locks").body()).isEqualTo("{\"locks\":[],\"total\":0}");

      String denied = "?tag=rule:Code&tag=outcome:denied&tag=counted.by:store&tag=locked:true";
      assertThat(app.get("/actuator/metrics/sluice.decisions" + denied).body())
          .contains("\"statistic\":\"COUNT\",\"value\":1.0");
      assertThat(app.get("/actuator/metrics/sluice.calls?tag=outcome:denied").body())
          .contains("\"statistic\":\"COUNT\",\"value\":1.0");
      assertThat(app.get("/actuator/health").body())
          .containsPattern("\"sluice\":\\{[^}]*\"rules\":5[^}]*}");
    }
  }

  @ParameterizedTest
  @CsvSource({"SERVLET", "REACTIVE"})
  void mistypedPathsAndIdentitiesAreRefusedWithAText(WebApplicationType type) {
    Class<?> main = type == WebApplicationType.SERVLET ? Shop.Mvc.class : Shop.WebFlux.class;
    try (App app = App.start(type, main, SETTINGS)) {
      app.postJson("/actuator/sluice/locks/Code/login=ann", "{\"duration\":\"30m\"}");

      check(app, "DELETE", "lock/Code/login=ann", 404, "/sluice/'lock': unknown (did you mean");
      check(app, "DELETE", "rules/Code/login=ann", 404, "unknown (expected: locks, accounts)");
      check(app, "DELETE", "locks/Cod/login=ann", 404, "rule 'Cod': unknown (did you mean 'Code'");
      check(app, "DELETE", "accounts/Cod/login=ann", 404, "rule 'Cod': unknown");
      check(app, "DELETE", "locks/Code", 400, "identity: missing (expected: behind the rule");
      check(app, "DELETE", "locks/Code/ann", 400, "identity: 'ann' (expected: name=value");
      check(app, "DELETE", "locks/Code/login=a=b&login=c", 400, "has 'login' twice");
      check(app, "DELETE", "locks/Promo/member=ann", 400, "has [member] (expected: member+promo)");
      check(app, "DELETE", "accounts/Promo/member=ann", 400, "has [member]");
      check(app, "DELETE", "locks/Code/login=ann?identity=login=ann", 400, "identity: given twice");
      check(app, "DELETE", "accounts/Code/login=ann?keepUsage=true", 400, "only for locks");
      check(app, "GET", "lokcs", 404, "did you mean 'locks'?");
      check(app, "GET", "lokcs/Code", 404, "did you mean 'locks'?");
      check(app, "GET", "locks/Code/login=ann", 404, "nothing below it (expected: /sluice/look/");
      check(app, "GET", "look", 400, "rule: missing (expected: /sluice/look/{rule}/{identity})");
      check(app, "GET", "locks/Cod", 404, "rule 'Cod': unknown");
      check(app, "GET", "look/Cod/login=ann", 404, "rule 'Cod': unknown");
      check(app, "GET", "look/Code/ann", 400, "identity: 'ann' (expected: name=value");
      check(app, "GET", "look/Promo/member=ann", 400, "has [member] (expected: member+promo)");
      check(app, "GET", "locks?limit=0", 400, "limit: 0 (expected");

      assertThat(app.get("/actuator/sluice/locks").body())
          .contains("\"identity\":\"login=ann\"", "\"total\":1");
    }
  }

  private static void check(App app, String method, String path, int status, String text) {
    HttpResponse<String> answer = app.send(method, "/actuator/sluice/" + path);

    assertThat(answer.body()).contains(text);
    assertThat(answer.statusCode()).isEqualTo(status);
    assertThat(App.header(answer, "Content-Type")).startsWith("application/problem+json");
  }

  @ParameterizedTest
  @CsvSource({"SERVLET", "REACTIVE"})
  void operatorsSetLiftAndResetAndSeeWhatThePersonCanDoNow(WebApplicationType type) {
    Class<?> main = type == WebApplicationType.SERVLET ? Shop.Mvc.class : Shop.WebFlux.class;
    String ann = "Code/login=ann";
    try (App app = App.start(type, main, SETTINGS)) {
      for (int i = 0; i < 3; i++) {
        assertThat(app.get("/code?login=ann&code=1").statusCode()).isEqualTo(401);
      }

      HttpResponse<String> set =
          app.postJson(
              "/actuator/sluice/locks/" + ann, "{\"duration\":\"5m\",\"reason\":\"ticket 7\"}");
      assertThat(set.statusCode()).isEqualTo(200);
      assertThat(set.body())
          .startsWith("{\"locks\":[" + lock("ticket 7", set.body()) + "],\"now\":{")
          .contains("\"now\":{\"allowed\":false,\"restrictedUntil\":1");
      String listed = app.get("/actuator/sluice/locks/Code").body();
      assertThat(listed).isEqualTo("{\"locks\":[" + lock("ticket 7", listed) + "],\"total\":1}");
      assertThat(app.get("/code?login=ann&code=42").statusCode()).isEqualTo(429);

      assertThat(app.send("DELETE", "/actuator/sluice/locks/" + ann + "?keepUsage=true").body())
          .startsWith("{\"lifted\":true,\"says\":\"lifted; still denied for ")
          .contains("login=ann has 0 of 3 left (3 per 30m)", "\"now\":{\"allowed\":false,\"limits");
      assertThat(app.send("DELETE", "/actuator/sluice/accounts/" + ann).body())
          .startsWith("{\"reset\":true,\"now\":{\"allowed\":true,\"limits\":")
          .contains("\"remaining\":3");
      assertThat(app.send("DELETE", "/actuator/sluice/accounts/" + ann).body())
          .startsWith("{\"reset\":false,\"now\":{\"allowed\":true");
      assertThat(app.send("DELETE", "/actuator/sluice/locks/" + ann).body())
          .startsWith("{\"lifted\":false,\"says\":\"was not locked; the next call passes");
      assertThat(app.get("/code?login=ann&code=42").statusCode()).isEqualTo(200);

      String locks = "/actuator/sluice/locks/" + ann;
      assertThat(app.postJson(locks, "{}").body()).contains("duration: missing");
      assertThat(app.postJson(locks, "{\"duration\":\"soon\"}").body())
          .contains("duration: 'soon' (expected: a duration");
      assertThat(app.postJson(locks, "{\"duration\":\"0s\"}").statusCode()).isEqualTo(400);
      assertThat(app.postJson(locks, "{\"duration\":\"5m\",\"reason\":\"\\u0007\"}").statusCode())
          .isEqualTo(400);
      assertThat(app.postJson("/actuator/sluice/lock/" + ann, "{}").statusCode()).isEqualTo(404);
      assertThat(app.get("/actuator/sluice/locks").body()).contains("\"total\":0");
    }
  }

  @ParameterizedTest
  @CsvSource({"SERVLET", "REACTIVE"})
  void identitiesCanBePastedAsTheyAreListed(WebApplicationType type) {
    Class<?> main = type == WebApplicationType.SERVLET ? Shop.Mvc.class : Shop.WebFlux.class;
    Stream<String> more =
        Stream.of(
            "sluice.facets.key.secret=true",
            "sluice.rules.Many.by=ip+login",
            "sluice.rules.Many.limit=3 per 1m");
    String[] settings = Stream.concat(Arrays.stream(SETTINGS), more).toArray(String[]::new);
    try (App app = App.start(type, main, settings)) {
      Limiter limiter = app.bean(Limiter.class);
      Map<String, Identity> who = new LinkedHashMap<>();
      who.put("Api", Identity.of("key", "a secret"));
      who.put("Code", Identity.of("login", "Jörg O'Neil; x"));
      who.put("Many", Identity.of("ip", "2001:db8::/64", "login", "ann+x@example.com"));
      who.forEach((rule, identity) -> limiter.lock(rule, identity, Duration.ofHours(1), "x"));

      for (String rule : who.keySet()) {
        String listed = identity(app.get("/actuator/sluice/locks/" + rule).body());
        assertThat(app.get("/actuator/sluice/look/" + rule + "/" + listed).body())
            .contains("\"allowed\":false", "\"identity\":\"" + listed + "\"");
        assertThat(app.send("DELETE", "/actuator/sluice/locks/" + rule + "/" + listed).body())
            .startsWith("{\"lifted\":true");
      }
      assertThat(app.get("/actuator/sluice/locks").body()).contains("\"total\":0");
    }
  }

  /** Some servers and firewalls refuse an encoded % or / in a path. */
  @ParameterizedTest
  @CsvSource({"SERVLET", "REACTIVE"})
  void anyIdentityCanBeGivenAsAParameter(WebApplicationType type) {
    Class<?> main = type == WebApplicationType.SERVLET ? Shop.Mvc.class : Shop.WebFlux.class;
    try (App app = App.start(type, main, SETTINGS)) {
      Limiter limiter = app.bean(Limiter.class);
      for (String login : List.of("50%off", "%41nn", "a&b=c", "//", "../x", "a+b", "日本")) {
        String text = Identity.of("login", login).toString();
        assertThat(
                app.postJson(
                        "/actuator/sluice/locks/Code",
                        "{\"identity\":\"%s\",\"duration\":\"1h\"}".formatted(text))
                    .statusCode())
            .isEqualTo(200);
        String listed = identity(app.get("/actuator/sluice/locks/Code").body());
        assertThat(listed).isEqualTo(text);
        String query = "?identity=" + URLEncoder.encode(listed, StandardCharsets.UTF_8);

        assertThat(app.get("/actuator/sluice/look/Code" + query).body())
            .contains("\"allowed\":false");
        assertThat(app.send("DELETE", "/actuator/sluice/locks/Code" + query).body())
            .startsWith("{\"lifted\":true");
        assertThat(limiter.decide("Code", Identity.of("login", login)).allowed()).isTrue();
      }
    }
  }

  /** The lock of Ann in JSON, its keys in the order in which docs/spring.md prints them. */
  private static String lock(String reason, String json) {
    Matcher until = Pattern.compile("\"since\":\"[^\"]+\",\"until\":\"[^\"]+\"").matcher(json);
    assertThat(until.find()).isTrue();
    return "{\"rule\":\"Code\",\"identity\":\"login=ann\",%s,\"reason\":\"%s\"}"
        .formatted(until.group(), reason);
  }

  private static String identity(String page) {
    Matcher identity = Pattern.compile("\"identity\":\"([^\"]+)\"").matcher(page);
    assertThat(identity.find()).isTrue();
    return identity.group(1);
  }

  @Test
  void onlyWhatChangedSomethingIsWrittenIntoTheAuditLog(CapturedOutput output) {
    Stream<String> more = Stream.of("logging.level.sluice.audit=INFO");
    String[] settings = Stream.concat(Arrays.stream(SETTINGS), more).toArray(String[]::new);
    try (App app = App.start(WebApplicationType.SERVLET, Shop.Mvc.class, settings)) {
      app.send("DELETE", "/actuator/sluice/locks/Code/login=ann");
      app.send("DELETE", "/actuator/sluice/accounts/Code/login=ann");
      assertThat(output.getOut()).doesNotContain("sluice.audit");

      app.postJson("/actuator/sluice/locks/Code/login=ann", "{\"duration\":\"30m\"}");
      assertThat(output.getOut())
          .containsPattern("sluice.audit .*lock set by .*: rule Code, login=ann\n");
      app.send("DELETE", "/actuator/sluice/locks/Code/login=ann");
      assertThat(output.getOut())
          .containsPattern("sluice.audit .*lock lifted by .*: rule Code, login=ann\n");
    }
  }

  @ParameterizedTest
  @CsvSource({"SERVLET", "REACTIVE"})
  void nothingIsShownOverHttpUnlessTheApplicationExposesIt(WebApplicationType type) {
    Class<?> main = type == WebApplicationType.SERVLET ? Shop.Mvc.class : Shop.WebFlux.class;
    try (App app = App.start(type, main, Shop.on("memory"))) {
      assertThat(app.get("/actuator/sluice").statusCode()).isEqualTo(404);
      assertThat(app.get("/actuator/sluice/locks").statusCode()).isEqualTo(404);
    }
  }

  @ParameterizedTest
  @CsvSource({"SERVLET", "REACTIVE"})
  void locksAreListedInPages(WebApplicationType type) {
    Class<?> main = type == WebApplicationType.SERVLET ? Shop.Mvc.class : Shop.WebFlux.class;
    try (App app = App.start(type, main, SETTINGS)) {
      Limiter limiter = app.bean(Limiter.class);
      for (int i = 0; i < 1_205; i++) {
        Identity login = Identity.of("login", "user" + i);
        limiter.lock("Code", login, Duration.ofHours(1), "by hand");
      }

      Set<String> listed = new TreeSet<>();
      String path = "/actuator/sluice/locks/Code?limit=1000";
      String first = app.get(path).body();
      assertThat(names(first, listed)).isEqualTo(1_000);
      assertThat(first).contains("\"total\":1205");
      String second = app.get(path + "&after=" + next(first)).body();
      assertThat(names(second, listed)).isEqualTo(205);
      assertThat(second).doesNotContain("\"next\"");
      assertThat(listed).hasSize(1_205);

      assertThat(names(app.get("/actuator/sluice/locks").body(), listed)).isEqualTo(100);
      assertThat(refusal(app, "/actuator/sluice/locks?limit=1001")).isEqualTo(400);
      assertThat(refusal(app, "/actuator/sluice/locks?limit=0")).isEqualTo(400);
      assertThat(refusal(app, "/actuator/sluice/locks?after=x")).isEqualTo(400);
      assertThat(refusal(app, "/actuator/sluice/look/Code/nonsense")).isEqualTo(400);
    }
  }

  /**
   * The status of a refusal. On WebFlux about one request in 150 that an actuator endpoint answers
   * with 400, those of Spring Boot included, sees its connection closed instead: then asks again.
   */
  private static int refusal(App app, String path) {
    for (int tries = 1; ; tries++) {
      try {
        return app.get(path).statusCode();
      } catch (UncheckedIOException e) {
        if (tries == 5) {
          throw e;
        }
      }
    }
  }

  private static int names(String page, Set<String> to) {
    List<String> found =
        Pattern.compile("login=user[0-9]+").matcher(page).results().map(r -> r.group()).toList();
    to.addAll(found);
    return found.size();
  }

  private static String next(String page) {
    Matcher next = Pattern.compile("\"next\":\"([^\"]+)\"").matcher(page);
    assertThat(next.find()).isTrue();
    return next.group(1);
  }
}
