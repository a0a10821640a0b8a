package dev.sluice.server;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.sluice.Rule;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.rules.Until;
import dev.sluice.server.health.HealthRoutes;
import dev.sluice.testing.Needs;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URLEncoder;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What strangers write is text on every page of the console, whatever they write. */
@Needs({"chromium", "chromedriver"})
class HostileTextIT {
  /*
   * Every text of the corpus is at once a login, the value of a header, part of the value of a
   * secret header, the reason of a lock, the reason of an override, a line of the message about
   * refused rules and, where that is allowed, the name of a rule. An element that a text would make
   * has the attribute data-hostile; a script would set window.hostile.
   */
  private static final Duration LONG = Duration.ofSeconds(60);
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final List<String> TEXTS = corpus();
  private static final List<String> RULE_NAMES =
      TEXTS.stream().filter(HostileTextIT::mayBeRule).toList();

  /** The keys of the buttons of a client's page that open a dialog. */
  private static final List<String> DIALOGS =
      List.of("lift Call ", "lock Call ", "reset Call ", "override Call ", "change ", "remove ");

  @TempDir private static Path profile;
  private static RedisProcess redis;
  private static Sluice sluice;
  private static Browser browser;
  private static ConsoleSession console;

  /** The identity of each text's client, as the console writes it. */
  private static final Map<String, String> identities = new HashMap<>();

  private static List<String> corpus() {
    try {
      return Arrays.asList(
          MAPPER.readValue(HealthRoutes.resource("hostile-texts.json"), String[].class));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static boolean mayBeRule(String text) {
    try {
      Rule.checkName(text);
      return true;
    } catch (IllegalArgumentException refused) {
      return false;
    }
  }

  private static String rules() {
    StringBuilder rules =
        new StringBuilder(
            """
            facets:
              login: {header: X-Login}
              tag: {header: X-Tag}
              key: {header: X-Key, secret: true}
            rules:
              Call: {by: [login+tag+key], limit: 1 per 1h}
            """);
    RULE_NAMES.forEach(
        name -> rules.append("  \"%s\": {by: [tag], limit: 1000 per 1h}\n".formatted(name)));
    return rules.toString();
  }

  // ---- Everything that a stranger or an operator can write ------------------------------------

  @BeforeAll
  static void write() {
    // The feed shows a hundred.
    assertThat(TEXTS).hasSizeBetween(50, 95).doesNotHaveDuplicates();
    assertThat(RULE_NAMES).contains("__proto__", "constructor").hasSizeLessThan(12);
    redis = RedisProcess.start(RedisProcess.newest());
    sluice =
        Sluice.startWithRefusedRules(
            Sluice.patient(10_000),
            rules(),
            String.join("\n", TEXTS),
            Stores.open(redis.uri(), Duration.ofSeconds(20), 1, true, false, true, fault -> {}));
    console = ConsoleSession.begin(sluice, Sluice.TOKEN);
    for (String text : TEXTS) {
      assertThat(call(text)).as(text).isTrue();
      assertThat(call(text)).as(text).isFalse();
    }
    for (String name : RULE_NAMES) {
      sluice.send(sluice.request("GET", "/v1/gate/" + name).header("X-Tag", "a-tag"));
    }
    Until.within(LONG, "every client in the list", HostileTextIT::learnIdentities);
    for (String text : TEXTS) {
      ObjectNode lock = MAPPER.createObjectNode();
      lock.put("rule", "Call").put("identity", identities.get(text));
      lock.put("duration", "1h").put("reason", text);
      assertThat(change("locks", lock)).as(text).isEqualTo(200);
      ObjectNode override = MAPPER.createObjectNode();
      override.put("rule", "Call").put("reason", text);
      override.putObject("when").put("tag", text);
      override.putArray("limits").add("1 per 2h");
      assertThat(change("overrides", override)).as(text).isEqualTo(200);
    }
    browser = Browser.start(profile, sluice);
  }

  @AfterAll
  static void stop() {
    if (browser != null) {
      browser.close();
    }
    if (sluice != null) {
      sluice.close();
    }
    if (redis != null) {
      redis.close();
    }
  }

  private static int change(String path, ObjectNode body) {
    return console.change("PUT", path, body.toString()).status();
  }

  /** Makes a call with the text; in headers, if a header can have it. */
  private static boolean call(String text) {
    String secret = secret(text);
    if (text.matches("[!-~]([ -~]*[!-~])?")) {
      int status =
          sluice
              .send(
                  sluice
                      .request("GET", "/v1/gate/Call")
                      .header("X-Login", text)
                      .header("X-Tag", text)
                      .header("X-Key", secret))
              .status();
      assertThat(status).as(text).isIn(200, 429);
      return status == 200;
    }
    ObjectNode call = MAPPER.createObjectNode().put("rule", "Call");
    call.putObject("identity").put("login", text).put("tag", text).put("key", secret);
    return sluice.post("/v1/check", call.toString()).json().path("allowed").asBoolean();
  }

  /** The value of the secret header: its beginning must be on no page. */
  private static String secret(String text) {
    return "top-secret-" + text;
  }

  private static boolean learnIdentities() {
    JsonNode found = console.get("clients?limit=200").json();
    found
        .path("clients")
        .forEach(
            client ->
                identities.put(
                    client.at("/facets/login").asText(), client.path("identity").asText()));
    return identities.keySet().containsAll(TEXTS);
  }

  // ---- The pages ------------------------------------------------------------------------------

  @BeforeEach
  void openConsole() {
    browser.signIn(Sluice.TOKEN);
    browser.awaitText(".pulse", "Live");
  }

  @AfterEach
  void nothingHappened() {
    String shown = browser.text("body");
    assertThat(shown).doesNotContain("top-secret-");
    browser.checkNothingStrange(shown.substring(0, Math.min(200, shown.length())));
  }

  @Test
  void overviewAndRulesShowTheMessageAndTheNames() {
    browser.awaitText(".troubles", TEXTS.get(TEXTS.size() - 1));
    assertThat(missing(texts(".troubles"))).isEmpty();
    assertThat(browser.run("return document.querySelector('.troubles [data-code=\"U+000A\"]')"))
        .as("each line stands on its own")
        .isNull();
    RULE_NAMES.forEach(name -> browser.awaitText(".rules-card table a", name));
    browser.checkNothingStrange("overview");

    browser.go("rules");
    browser.awaitText(".content", "The latest rules were refused");
    assertThat(missing(texts(".banner"))).isEmpty();
    RULE_NAMES.forEach(name -> browser.awaitText(".rule-list .rule-name", name));
  }

  private static List<String> missing(String shown) {
    return TEXTS.stream().filter(text -> !shown.contains(text)).toList();
  }

  /** The text of all elements that match, as one. */
  private static String texts(String css) {
    return String.valueOf(
        browser.run(
            "return [...document.querySelectorAll(arguments[0])]"
                + ".map((one) => one.textContent).join('\\n')",
            css));
  }

  @Test
  void everyClientIsInTheListAndHasAPage() {
    browser.go("clients");
    for (String text : TEXTS) {
      browser.awaitText(".clients-card .chip-value", text);
    }
    browser.checkNothingStrange("clients");
    for (String text : TEXTS) {
      browser.go("client?identity=" + URLEncoder.encode(identities.get(text), UTF_8));
      awaitPageOf(text);
      browser.checkPage("the page of " + text);
      for (String button : DIALOGS) {
        checkDialog(button, text);
      }
    }
  }

  /** Opens a dialog by the key of its button, and closes it again. */
  private static void checkDialog(String button, String text) {
    browser.run("document.querySelector(`#main [data-key^=\"${arguments[0]}\"]`).click()", button);
    String where = "dialog '%s' of %s".formatted(button, text);
    assertThat(texts("dialog[open] .target")).as(where).contains(text);
    if (button.startsWith("lock ")) {
      assertThat(browser.run("return document.querySelector('dialog[open] [maxlength]').value"))
          .as("the reason in " + where)
          .isEqualTo(text);
    }
    browser.checkPage(where);
    browser.run("document.querySelector('dialog[open]').close()");
  }

  /** These dialogs ask for the rules of the client first. */
  @Test
  void dialogsOfTheListOfClientsShowTextsAsText() {
    browser.go("clients");
    for (String text : TEXTS) {
      browser.awaitText(".clients-card .chip-value", text);
      for (String button : List.of("lock ", "override ")) {
        browser.run(
            "[...document.querySelectorAll('#main [data-key]')]"
                + ".find((one) => one.dataset.key === arguments[0]).click()",
            button + identities.get(text));
        browser.awaitText("dialog[open] .choose-account .chip-value", text);
        browser.checkPage("dialog '%s' of %s".formatted(button, text));
        browser.run("document.querySelector('dialog[open]').close()");
      }
    }
  }

  /** Its login and tag, with the reason of its lock; the tag and the reason of its override. */
  private static void awaitPageOf(String text) {
    browser.awaitTrue(
        "the page of " + text,
        """
        const times = (css) =>
          (document.querySelector(css)?.textContent ?? "").split(arguments[0]).length - 1;
        return times("h1") >= 2
          && times(".accounts-card") >= 3
          && times("section:has(#card-overrides)") >= 2
          && document.querySelector("h1 .chip.hashed").textContent.includes("sha256:");
        """,
        text);
  }

  @Test
  void everyLockOverrideAndChangeIsListed() {
    for (String list : List.of("locks", "overrides", "audit")) {
      browser.go(list);
      Cells cells = turnPages(list);
      assertThat(missing(cells.clients)).as("clients of " + list).isEmpty();
      assertThat(missing(cells.words)).as("reasons of " + list).isEmpty();
    }
  }

  /** What the pages of a list show: the values of facets, and the cells with words. */
  private record Cells(String clients, String words) {}

  private static Cells turnPages(String list) {
    String card = "." + list + "-card";
    String status = card + " .pager [role=status]";
    Cells cells = new Cells("", "");
    String before = "";
    while (true) {
      browser.awaitTrue(
          "a page of " + list,
          "const shown = document.querySelector(arguments[0])?.textContent ?? '';"
              + " return shown.includes('–') && shown !== arguments[1]",
          status,
          before);
      before = browser.text(status);
      cells =
          new Cells(
              cells.clients + texts(card + " .chip-value"), cells.words + texts(card + " td.text"));
      browser.checkNothingStrange(list + " " + before);
      if (Boolean.TRUE.equals(
          browser.run(
              "return document.querySelector(arguments[0] + ' [data-key=later]')?.disabled ?? true",
              card))) {
        return cells;
      }
      browser.click(card + " .pager", "Next");
    }
  }

  @Test
  void refusalsAreTextInTheLiveFeed() {
    browser.go("live");
    browser.awaitText(".feed-card", "refus");
    List<String> missing = new ArrayList<>(TEXTS);
    // A node sends samples, so a refusal that did not arrive is made again.
    for (int round = 0; round < 8 && !missing.isEmpty(); round++) {
      List<String> some = missing.subList(0, Math.min(25, missing.size()));
      some.forEach(HostileTextIT::call);
      browser.awaitText(".feed-card .chip-value", some.get(0));
      String shown = texts(".feed-card .chip-value");
      missing.removeIf(shown::contains);
      browser.checkNothingStrange("live");
    }

    assertThat(missing).isEmpty();
  }

  /** Nobody could tell such a caller from a caller with a secret, and it would be cut short. */
  @Test
  void aValueThatLooksLikeAHashIsShownInFull() {
    String login = "sha256:" + "0123456789".repeat(4);
    call(login);

    browser.go("clients");

    browser.awaitText(".clients-card .chip:not(.hashed) .chip-value", login);
    assertThat(texts(".clients-card .chip.hashed")).contains("sha256:").doesNotContain("01234567");
  }

  @Test
  void longTextsDoNotMakeAPageWider() {
    browser.screen(390, 844);
    try {
      for (String page : List.of("overview", "clients", "locks", "overrides", "rules", "audit")) {
        browser.go(page);
        browser.awaitTrue(
            page + " is as wide as the screen",
            "return document.querySelector('.content')?.textContent.length > 500"
                + " && document.documentElement.scrollWidth <= 390");
      }
      browser.go(
          "client?identity="
              + URLEncoder.encode(identities.getOrDefault("W".repeat(128), ""), UTF_8));
      browser.awaitText(".accounts-card", "W".repeat(128));
      browser.awaitTrue(
          "a client's page is as wide as the screen",
          "return document.documentElement.scrollWidth <= 390");
    } finally {
      browser.screen(0, 0);
    }
  }
}
