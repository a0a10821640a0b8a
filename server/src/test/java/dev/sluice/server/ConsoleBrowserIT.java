package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.rules.Until;
import dev.sluice.server.http.Settings;
import dev.sluice.testing.Needs;
import java.net.http.HttpRequest;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.openqa.selenium.Cookie;
import org.openqa.selenium.Keys;

/** The console in a real browser, on two services that share a Redis. */
@Needs({"chromium", "chromedriver"})
class ConsoleBrowserIT {
  private static final Duration LONG = Duration.ofSeconds(30);
  private static final List<String> PAGES =
      List.of("overview", "clients", "locks", "overrides", "rules", "live", "audit");
  private static final String RULES =
      """
      facets:
        login: caller
        member: caller
        guest: caller
        apiKey: {header: X-Api-Key, secret: true}
      rules:
        SignIn: {by: [login], limit: 2 per 10m, lock: 30m}
        Search:
          by: [member]
          limit: 2 per 1h
          overrides: [{when: {member: zoe}, limit: 3 per 1h}]
        Api: {by: [apiKey], limit: 1000 per 1h}
        Watch: {by: [guest], limit: 1 per 1h, mode: shadow}
      """;

  @TempDir private static Path profile;
  private static RedisProcess redis;
  private static Sluice one;
  private static Sluice two;
  private static Browser browser;

  @BeforeAll
  static void start() {
    redis = RedisProcess.start(RedisProcess.newest());
    one = service();
    two = service();
    browser = Browser.start(profile, one);
  }

  private static Sluice service() {
    Settings settings =
        Settings.builder().requestTimeout(Duration.ofMinutes(2)).storeName(redis.uri()).build();
    return Sluice.start(
        settings,
        RULES,
        Stores.open(redis.uri(), Duration.ofSeconds(20), 2, true, false, true, fault -> {}));
  }

  @AfterAll
  static void stop() {
    for (AutoCloseable each : new AutoCloseable[] {browser, one, two, redis}) {
      try {
        if (each != null) {
          each.close();
        }
      } catch (Exception e) {
        throw new AssertionError(e);
      }
    }
  }

  @BeforeEach
  void signIn() {
    browser.signIn(Sluice.TOKEN);
    browser.awaitText(".pulse", "Live");
  }

  @AfterEach
  void nothingStrange() {
    browser.checkNothingStrange("after the test");
  }

  private static boolean passes(Sluice service, String rule, String facet, String value) {
    String body =
        "{\"rule\": \"%s\", \"identity\": {\"%s\": \"%s\"}}".formatted(rule, facet, value);
    Sluice.Answer answer = service.post("/v1/check", body);
    assertThat(answer.status()).as(answer.response().body()).isEqualTo(200);
    return answer.json().path("allowed").asBoolean();
  }

  /** Uses up a limit of two; the third call is refused, and locks if the rule has a lock. */
  private static void useUp(Sluice service, String rule, String facet, String value) {
    assertThat(passes(service, rule, facet, value)).isTrue();
    assertThat(passes(service, rule, facet, value)).isTrue();
    assertThat(passes(service, rule, facet, value)).isFalse();
  }

  /** The selector of the row of a client. */
  private static String row(String text) {
    return "tr:has([aria-label='Client %s'])".formatted(text);
  }

  // ---- Signing in and out ---------------------------------------------------------------------

  @Test
  void aWrongTokenIsRefusedAndTheRightOneOpensTheConsole() {
    browser.click("header", "Sign out");
    browser.awaitText("main", "You are signed out.");

    browser.enterToken("not-the-token");

    browser.awaitText("main form [role=alert]", "This is not a token of this service.");
    assertThat(browser.text("body")).doesNotContain("Overview", "Audit");
    browser.enterToken(Sluice.TOKEN);
    browser.awaitText("h1", "Overview");
    assertThat(browser.text("header")).contains("admin");
    assertThat(browser.text("main")).doesNotContain("not a token");
  }

  @Test
  void signingOutEndsTheSessionAlsoForThePageBefore() {
    browser.go("locks");
    browser.awaitText(".content", "Locked now");
    Cookie session = browser.driver().manage().getCookieNamed("sluice-session");
    assertThat(session.isHttpOnly()).isTrue();
    assertThat(statusWith(session)).isEqualTo(200);

    browser.click("header", "Sign out");

    browser.awaitText("main", "You are signed out.");
    assertThat(browser.driver().manage().getCookieNamed("sluice-session")).isNull();
    assertThat(statusWith(session)).isEqualTo(401);
    assertThat(statusInPage()).isEqualTo(401);
    browser.driver().navigate().back();
    browser.awaitTrue("the hash of the page before", "return location.hash !== '#/locks'");
    browser.awaitText("main form", "Sign in");
    assertThat(browser.text("body")).doesNotContain("Locked now");
    browser.load();
    browser.awaitText("main form", "Sign in");
  }

  private static int statusWith(Cookie session) {
    return one.send(
            one.request("GET", "/console/api/locks")
                .header("Cookie", session.getName() + "=" + session.getValue()))
        .status();
  }

  private static long statusInPage() {
    Object status =
        browser
            .driver()
            .executeAsyncScript(
                "fetch('/console/api/locks').then((answer) => arguments[0](answer.status))");
    return status instanceof Long number ? number : -1;
  }

  // ---- What the pages show --------------------------------------------------------------------

  @Test
  void everyPageShowsWhatItIsFor() {
    useUp(two, "SignIn", "login", "pat");
    String key = "a-key-that-nobody-may-see";
    one.send(one.request("GET", "/v1/gate/Api").header("X-Api-Key", key));
    one.send(
        one.admin("PUT", "/v1/locks/Search?member=eve")
            .PUT(
                HttpRequest.BodyPublishers.ofString(
                    "{\"duration\": \"2h\", \"reason\": \"ticket 4711\"}")));

    browser.awaitText(".nodes-card tbody tr:nth-child(2)", "service"); // two nodes
    browser.awaitText(".rules-card tbody", "SignIn");
    browser.awaitText(".limits-card tbody", "2 per 10m");
    browser.awaitText(".store-card", "Redis");
    browser.awaitText(".store-card", "answers");
    assertThat(tile("Rules in force")).isEqualTo("4");
    browser.awaitTrue(
        "a chart",
        "return [...document.querySelectorAll('canvas')].length === 2"
            + " && [...document.querySelectorAll('canvas')].every((one) => one.width > 100)");

    browser.go("clients");
    browser.awaitText(row("login=pat"), "pat");
    browser.awaitText(".clients-card .chip.hashed", "sha256:");
    browser.click(".clients-card", "Client login=pat");
    browser.awaitText("h1", "pat");
    browser.awaitText(".accounts-card tbody tr", "SignIn");
    browser.awaitText(".accounts-card tbody tr", "2 of 2");
    browser.awaitText(".accounts-card tbody tr", "locked");
    assertThat(browser.text(".accounts-card")).doesNotContain("Search");

    browser.go("locks");
    browser.awaitText(row("member=eve"), "ticket 4711");
    browser.awaitText(row("member=eve") + " .countdown", "2h");
    browser.awaitText(row("login=pat"), "SignIn");
    browser.awaitText(row("member=eve") + " time[data-since]", "ago");

    browser.go("overrides");
    browser.awaitText(".overrides-card", "Override");

    browser.go("rules");
    for (String rule : List.of("SignIn", "Search", "Api")) {
      browser.awaitText(".rule-list .rule-name", rule);
    }
    browser.awaitText(".rule-list", "30m");
    browser.awaitText(".rule-list .rule-first", "At most 1,000 pass in any 1h");

    browser.go("audit");
    browser.awaitText(".audit-card tbody tr", "ticket 4711");
    browser.awaitText(".audit-card tbody tr", "admin");
    browser.awaitText(".audit-card tbody tr", "eve");

    assertThat(browser.requests()).noneMatch(request -> request.contains(key));
  }

  @Test
  void aClientHasTheOverridesOfTheRuleFileWithoutButtons() {
    String css = "section:has(#card-overrides) tbody tr";
    browser.go("client?identity=member%3Dzoe");
    browser.awaitText(css, "3 per 1h");

    assertThat(browser.text(css)).contains("Search", "zoe", "in the rule file", "in force");
    assertThat(browser.text(css)).doesNotContain("Remove", "never");
  }

  @Test
  void anEntryThatSluiceDidNotWriteIsShownAsSkippedAndCanBeRemoved() {
    redis.command("HSET", "s2:data:{overrides}", "foreign", "nobody knows");
    redis.command(
        "HSET",
        "s2:data:{overrides}",
        "shape",
        "1 Search rita -\n{\"when\": {\"member\": \"zoe\"}, \"limits\": {\"x\": null}}");
    one.send(
        one.admin("PUT", "/v1/overrides/good")
            .method(
                "PUT",
                HttpRequest.BodyPublishers.ofString(
                    "{\"rule\": \"Api\", \"when\": {\"apiKey\": \"k\"}, \"limit\": \"5 per 1h\"}")));

    browser.go("overrides");

    browser.awaitText(".overrides-card tbody tr", "Sluice did not write it");
    assertThat(browser.text(".overrides-card")).contains("5 per 1h", "skipped", "in force");
    for (String id : List.of("foreign", "shape", "good")) {
      browser.click(".overrides-card", "Remove the override " + id);
      browser.click("dialog", "Remove");
      browser.awaitTrue(
          id + " is gone",
          "return document.querySelector(arguments[0]) === null",
          "[aria-label='Remove the override %s']".formatted(id));
    }
  }

  private static String tile(String name) {
    return String.valueOf(
        browser.run(
            """
            const found = [...document.querySelectorAll(".tile")]
              .find((one) => one.querySelector("dt").textContent === arguments[0]);
            const value = found?.querySelector("dd").cloneNode(true);
            value?.querySelectorAll(".tile-note").forEach((note) => note.remove());
            return value?.textContent ?? "";
            """,
            name));
  }

  private static int inAll(String name) {
    Object note =
        browser.run(
            """
            return [...document.querySelectorAll(".tile")]
              .find((one) => one.querySelector("dt").textContent === arguments[0])
              ?.querySelector(".tile-note").textContent ?? "";
            """,
            name);
    return Integer.parseInt(String.valueOf(note).replaceAll("[^0-9]", ""));
  }

  @Test
  void numbersMoveByThemselves() {
    browser.awaitText(".tiles", "since start");
    int allowed = inAll("Allowed");
    int denied = inAll("Refused");

    useUp(one, "Search", "member", "max");
    useUp(two, "Search", "member", "mia");

    Until.within(LONG, "four more allowed", () -> inAll("Allowed") >= allowed + 4);
    Until.within(LONG, "two more refused", () -> inAll("Refused") >= denied + 2);
    browser.go("live");
    browser.awaitText(".feed-card", "refus");
    assertThat(passes(two, "Search", "member", "max")).isFalse();
    browser.awaitText(row("member=max"), "2 per 1h");
    assertThat(browser.text(row("member=max"))).contains("Search");
    browser.click(".tools", "Pause");
    browser.awaitText(".feed-state", "Paused.");
    assertThat(passes(one, "Search", "member", "mia")).isFalse();
    browser.awaitTrue(
        "a refusal while it is paused",
        "return /Paused\\. [1-9]/.test(document.querySelector('.feed-state').textContent)");
  }

  // ---- Changes --------------------------------------------------------------------------------

  @Test
  void aLockThatIsLiftedInThePageLetsTheCallerIn() {
    useUp(one, "SignIn", "login", "lou");
    browser.go("locks");
    browser.awaitText(row("login=lou"), "SignIn");

    browser.click(row("login=lou"), "Lift the lock of login=lou for SignIn");
    browser.awaitText("dialog", "Lift this lock?");
    browser.awaitText("dialog code", "./sluice locks lift SignIn login=lou --url " + one.url());
    assertThat(passes(two, "SignIn", "login", "lou")).isFalse();
    browser.click("dialog", "Lift the lock");

    browser.awaitText(".toasts", "The lock of login=lou is lifted.");
    Until.within(LONG, "the caller is let in", () -> passes(two, "SignIn", "login", "lou"));
    browser.awaitTrue(
        "no row of the caller",
        "return document.querySelector(arguments[0]) === null",
        row("login=lou"));
    browser.go("audit");
    browser.awaitText(".audit-card tbody tr:has([aria-label='Client login=lou'])", "lock lifted");
  }

  @Test
  void extendingALockAddsToTheTimeThatIsLeft() {
    String lock = "{\"duration\": \"7d\", \"reason\": \"ticket 4712\"}";
    one.send(
        one.admin("PUT", "/v1/locks/SignIn?login=lea")
            .PUT(HttpRequest.BodyPublishers.ofString(lock)));
    JsonNode before = lockOfLea();
    browser.go("locks");
    browser.awaitText(row("login=lea"), "ticket 4712");

    browser.click(row("login=lea"), "Extend the lock of login=lea for SignIn");
    browser.awaitText("dialog code", "--for 7d30m");
    assertThat(browser.run("return document.querySelector('dialog .warning')")).isNull();
    browser.click("dialog", "Extend");

    browser.awaitText(".toasts", "The lock of login=lea is extended.");
    assertThat(end(lockOfLea())).isAfter(end(before).plus(Duration.ofMinutes(29)));
    assertThat(lockOfLea().path("since")).isEqualTo(before.path("since"));
  }

  @Test
  void aLockThatGetsShorterIsNotCalledExtended() {
    useUp(one, "SignIn", "login", "lena");
    browser.go("client?identity=login%3Dlena");
    browser.click(".accounts-card", "Extend the lock of SignIn");
    browser.awaitText("dialog code", "--for 1h");
    browser.click("dialog", "1 day more");
    browser.awaitText("dialog code", "--for 1d30m");
    browser.run(
        "const length = document.querySelector('dialog [pattern]'); length.value = '5m';"
            + " length.dispatchEvent(new Event('input'))");

    browser.awaitText("dialog .warning", "earlier than without a change: the lock gets shorter.");
    browser.click("dialog", "Shorten");

    browser.awaitText(".toasts", "The lock of login=lena ends earlier now.");
  }

  private static JsonNode lockOfLea() {
    for (JsonNode lock : one.send(one.admin("GET", "/v1/locks")).json().path("locks")) {
      if (lock.path("identity").path("login").asText().equals("lea")) {
        return lock;
      }
    }
    throw new AssertionError("no lock");
  }

  private static Instant end(JsonNode lock) {
    return Instant.parse(lock.path("until").asText());
  }

  @Test
  void aMultipleIsThatOfTheLimitsInForce() {
    String body =
        "{\"rule\": \"Search\", \"when\": {\"member\": \"mo\"}, \"limits\": [\"7 per 1h\"]}";
    Sluice.Answer made =
        one.send(one.admin("PUT", "/v1/overrides").PUT(HttpRequest.BodyPublishers.ofString(body)));
    assertThat(made.status()).isEqualTo(200);
    try {
      browser.go("client?identity=member%3Dmo");
      browser.awaitText(".accounts-card", "7 per 1h");

      browser.click(".accounts-card", "Override: other limits for Search");

      browser.awaitText("dialog", "In force for this client: 7 per 1h. This client gets 14 per 1h");
      browser.escape();
    } finally {
      one.send(one.admin("DELETE", "/v1/overrides/" + made.json().path("id").asText()));
    }
  }

  @Test
  void threeClicksGiveAClientOtherLimitsOnEveryNode() {
    useUp(two, "Search", "member", "bob");
    browser.go("clients");
    browser.awaitText(row("member=bob"), "bob");
    browser.run("window.witness.clicks = 0");

    browser.click(row("member=bob"), "Override: other limits for member=bob");
    browser.awaitText("dialog", "This client gets 4 per 1h.");
    browser.click("dialog", "5×");
    browser.awaitText("dialog", "This client gets 10 per 1h.");
    assertThat(passes(two, "Search", "member", "bob")).isFalse();
    browser.click("dialog", "Put in force");

    Until.within(LONG, "the other service obeys", () -> passes(two, "Search", "member", "bob"));
    browser.awaitText(".toasts", "The override for member=bob is in force.");
    assertThat(browser.run("return window.witness.clicks")).isEqualTo(3L);
    useUpTo(two, 7);
    assertThat(passes(one, "Search", "member", "bob")).as("ten in all, on both").isFalse();
    browser.go("overrides");
    browser.awaitText(".overrides-card tbody tr", "10 per 1h");
    browser.awaitText(".overrides-card tbody tr", "in force");
    browser.click(".overrides-card tbody tr:has([title='member=bob']) .row-actions", removal());
    browser.click("dialog", "Remove");
    browser.awaitText(".toasts", "The override for member=bob is removed.");
    browser.awaitText(".overrides-card", "Nobody has other limits than the rules say");
  }

  private static void useUpTo(Sluice service, int calls) {
    for (int i = 0; i < calls; i++) {
      assertThat(passes(service, "Search", "member", "bob")).as("call %d", i).isTrue();
    }
  }

  private static String removal() {
    return String.valueOf(
        browser.run(
            "return document.querySelector('.overrides-card [data-key^=remove]')"
                + ".getAttribute('aria-label')"));
  }

  @Test
  void aMistakeIsShownInTheDialogAndNothingIsSent() {
    browser.go("locks");
    browser.click(".tools", "Lock a client");
    browser.type("dialog input", "login=zoe");
    choose("Search");
    browser.click("dialog", "Go on");

    browser.awaitText("dialog [role=alert]", "Search does not count this client");
    browser.awaitText("dialog [role=alert]", "Search counts each member");

    choose("SignIn");
    browser.click("dialog", "Go on");
    browser.awaitText("dialog h2", "Lock this client");
    browser.awaitText("dialog .target", "zoe");
    browser.escape();
    browser.awaitTrue("no dialog", "return document.querySelector('dialog') === null");
  }

  /** Chooses a rule in the dialog. */
  private static void choose(String rule) {
    browser.awaitText("dialog select", rule);
    browser.run("document.querySelector('dialog select').value = arguments[0]", rule);
  }

  @Test
  void aShadowRuleKeepsNobodyOut() {
    assertThat(passes(one, "Watch", "guest", "sam")).isTrue();
    assertThat(passes(one, "Watch", "guest", "sam")).isTrue();
    String css = ".accounts-card tbody tr";
    browser.go("client?identity=guest%3Dsam");
    browser.awaitText(css, "1 of 1");

    browser.awaitText(css + " .badge.shadow", "shadow");
    assertThat(browser.text(css + " [data-label='May call in']")).isEqualTo("now");
    assertThat(
            browser.run(
                "return document.querySelector('.accounts-card .refused, .accounts-card .denied')"))
        .isNull();
  }

  // ---- Trouble
  // ------------------------------------------------------------------------------------

  /**
   * Shows the overview as it is now, but with these changes, and returns the text of an element.
   */
  private static String overviewWith(String changes, String css) {
    browser.awaitText(".nodes-card tbody tr:nth-child(2)", "service");
    return String.valueOf(
        browser
            .driver()
            .executeAsyncScript(
                """
                const [changes, css, done] = arguments;
                import("/console/api.js").then(({ live }) => {
                  const now = structuredClone(live.overview);
                  const { nodes, ...others } = JSON.parse(changes);
                  Object.assign(now, others, { store: { ...now.store, ...others.store } });
                  nodes?.forEach((node, at) => Object.assign(now.nodes[at], node));
                  live.dispatchEvent(new CustomEvent("overview", { detail: now }));
                  done([...document.querySelectorAll(css)].map((one) => one.textContent).join("|"));
                });
                """,
                changes,
                css));
  }

  @Test
  void theOverviewSaysEachTroubleOnce() {
    String lost =
        "{\"store\": {\"trouble\": \"no Redis\"}, \"nodes\": [{\"trouble\": \"no Redis\"}]}";

    assertThat(overviewWith(lost, ".troubles .banner"))
        .containsOnlyOnce("no Redis")
        .contains("Each node decides by itself meanwhile");
    assertThat(overviewWith(lost, ".traffic .note"))
        .startsWith("this process only, while the store does not answer.");
    assertThat(overviewWith("{}", ".traffic .note")).startsWith("by every node that reports.");
    assertThat(overviewWith("{\"rulesFailure\": \"one\\ntwo\"}", ".troubles pre"))
        .isEqualTo("one|two");
  }

  @Test
  void servicesWithOtherRulesAreMarked() {
    String rules = ".nodes-card [data-label=Rules]";

    assertThat(overviewWith(versions("a1b2c3d4", "a1b2c3d4"), rules))
        .isEqualTo("4 · a1b2c3d4|4 · a1b2c3d4");
    assertThat(overviewWith(versions("a1b2c3d4", "00000000"), rules))
        .isEqualTo("4 · a1b2c3d4 differs|4 · 00000000 differs");
    assertThat(overviewWith(versions("a1b2c3d4", ""), rules)).isEqualTo("4 · a1b2c3d4|4");
  }

  private static String versions(String first, String second) {
    return "{\"nodes\": [{\"rulesVersion\": \"%s\"}, {\"rulesVersion\": \"%s\"}]}"
        .formatted(first, second);
  }

  // ---- Without Redis --------------------------------------------------------------------------

  @Test
  void thePageCanBeLoadedAnewWhileRedisDoesNotAnswer() {
    redis.pause();
    try {
      browser.load();
      browser.awaitText("h1", "Overview");
      assertThat(browser.text("header")).contains("admin");
      browser.go("locks");
      browser.awaitText(".notice", "The service cannot answer now.");
    } finally {
      redis.resume();
    }
    for (Sluice service : List.of(one, two)) {
      Until.within(
          LONG, "Redis", () -> service.send(service.admin("GET", "/v1/audit")).status() == 200);
    }
  }

  // ---- Eyes and hands -------------------------------------------------------------------------

  @Test
  void coloursFollowTheSystemUntilTheReaderChooses() {
    browser.run("localStorage.removeItem('sluice-theme')");
    browser.prefer("dark");
    browser.load();
    awaitColours("dark");
    browser.prefer("light");
    awaitColours("light");

    browser.click("header", "Use dark colours");

    awaitColours("dark");
    browser.load();
    awaitColours("dark"); // remembered
    browser.click("header", "Use light colours");
    awaitColours("light");
    browser.run("localStorage.removeItem('sluice-theme')");
  }

  /** Draws the colours of the page, for they may be written in many ways. */
  private static void awaitColours(String kind) {
    browser.awaitText("h1", "Overview");
    browser.awaitTrue(
        kind + " colours",
        """
        const brightness = (colour) => {
          const pen = document.createElement("canvas").getContext("2d");
          pen.fillStyle = colour;
          pen.fillRect(0, 0, 1, 1);
          const [red, green, blue] = pen.getImageData(0, 0, 1, 1).data;
          return red + green + blue;
        };
        const style = getComputedStyle(document.body);
        const more = brightness(style.backgroundColor) - brightness(style.color);
        return arguments[0] === "light" ? more > 300 : more < -300;
        """,
        kind);
  }

  @Test
  void noPageIsWiderThanASmallPhone() {
    useUp(one, "SignIn", "login", "kim");
    browser.screen(390, 844);
    try {
      for (String page : PAGES) {
        browser.go(page);
        browser.awaitTrue("content of " + page, "return !!document.querySelector('.card')");
        awaitNoSideways(page);
      }
      browser.go("client?identity=login%3Dkim");
      browser.awaitText(".accounts-card", "SignIn");
      awaitNoSideways("client");
      browser.click(".accounts-card", "Override: other limits for SignIn");
      browser.awaitTrue(
          "a dialog within the screen",
          "const box = document.querySelector('dialog[open]')?.getBoundingClientRect();"
              + " return box !== undefined && box.left >= 0 && box.right <= 390");
      awaitNoSideways("dialog");
      browser.escape();
      browser.click("header", "Sign out");
      browser.awaitText("main form", "Sign in");
      awaitNoSideways("signing in");
    } finally {
      browser.screen(0, 0);
    }
  }

  private static void awaitNoSideways(String page) {
    browser.awaitTrue(
        page + " is as wide as the screen",
        "return innerWidth === 390 && document.documentElement.scrollWidth <= 390");
  }

  @Test
  void theKeyboardIsEnough() {
    useUp(one, "SignIn", "login", "kay");
    browser.load();
    browser.awaitText("h1", "Overview");
    browser.press(Keys.TAB);
    assertThat(focus()).isEqualTo("Skip to the content");
    browser.press(Keys.ENTER);
    assertThat(focus()).isEqualTo("Overview");

    browser.press("gl");
    browser.awaitText("h1", "Locks");
    browser.awaitText(row("login=kay"), "SignIn");
    assertThat(focus()).isEqualTo("Locks");

    String lift = "Lift the lock of login=kay for SignIn";
    browser.run("document.querySelector(`button[aria-label=\"${arguments[0]}\"]`).focus()", lift);
    browser.press(Keys.ENTER);
    browser.awaitText("dialog[open]", "Lift this lock?");
    assertThat(browser.run("return document.activeElement.closest('dialog') !== null"))
        .isEqualTo(true);
    browser.escape();
    browser.awaitTrue("no dialog", "return document.querySelector('dialog') === null");
    assertThat(focus()).as("the focus returns").isEqualTo(lift);
    assertThat(passes(two, "SignIn", "login", "kay")).as("nothing was lifted").isFalse();

    browser.press("?");
    browser.awaitText("dialog[open]", "Keyboard shortcuts");
    browser.escape();
    browser.awaitTrue("no dialog", "return document.querySelector('dialog') === null");
    assertThat(focus()).isEqualTo(lift);
    browser.press("/");
    assertThat(focus()).isEqualTo("Search locks");
    browser.press("kay");
    browser.awaitTrue(
        "only this row", "return document.querySelectorAll('.locks-card tbody tr').length === 1");
  }

  /** The label of what has the focus, else its text. */
  private static String focus() {
    return String.valueOf(
        browser.run(
            "const one = document.activeElement;"
                + " return (one.getAttribute('aria-label') ?? one.textContent).trim()"));
  }
}
