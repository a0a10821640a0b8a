package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.logging.Level;
import org.jspecify.annotations.Nullable;
import org.openqa.selenium.ElementNotInteractableException;
import org.openqa.selenium.JavascriptException;
import org.openqa.selenium.Keys;
import org.openqa.selenium.StaleElementReferenceException;
import org.openqa.selenium.TimeoutException;
import org.openqa.selenium.WebElement;
import org.openqa.selenium.chrome.ChromeDriver;
import org.openqa.selenium.chrome.ChromeDriverService;
import org.openqa.selenium.chrome.ChromeOptions;
import org.openqa.selenium.interactions.Actions;
import org.openqa.selenium.logging.LogType;
import org.openqa.selenium.logging.LoggingPreferences;
import org.openqa.selenium.support.ui.WebDriverWait;

/** A headless Chromium that shows the console of one service, and notices what must not happen. */
final class Browser implements AutoCloseable {
  /*
   * A script that runs before those of the page writes down dialogs, violations of the
   * Content-Security-Policy and errors that nobody caught. The log of the driver has every request.
   * The pages replace their tables every few seconds, so a click looks for its element again if the
   * one it found is gone.
   */
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private static final String WITNESS =
      """
      window.witness = {dialogs: [], violations: [], errors: [], clicks: 0};
      for (const name of ["alert", "confirm", "prompt", "open", "print"]) {
        window[name] = (text) => void window.witness.dialogs.push(`${name}: ${text}`);
      }
      document.addEventListener("securitypolicyviolation", (event) =>
        window.witness.violations.push(
          `${event.effectiveDirective} ${event.blockedURI} ${event.sample}`));
      addEventListener("error", (event) =>
        window.witness.errors.push(String(event.message ?? event.target)), true);
      addEventListener("unhandledrejection", (event) =>
        window.witness.errors.push(String(event.reason)));
      addEventListener("click", (event) => event.isTrusted && window.witness.clicks++, true);
      """;

  /** Elements and attributes that no script of the console makes, and what the witness saw. */
  private static final String STRANGERS =
      """
      const found = [];
      for (const one of document.querySelectorAll("*")) {
        const isOurs = !one.matches(
            "[data-hostile], body script, body style, body link, body meta, body base, title *,"
            + " iframe, frame, object, embed, math, video, audio, template, marquee, area, portal")
          && (one.localName !== "img" || one.getAttribute("src") === "/console/icon.svg")
          && (one.localName !== "svg" || one.classList.contains("icon"))
          && [...one.attributes].every(({name, value}) =>
            !/^on|^srcdoc$|action$/i.test(name)
            && (!/^(.*:)?(href|src)$/i.test(name) || /^(#|\\/(?!\\/))/.test(value)));
        if (!isOurs) {
          found.push(`element: ${one.outerHTML.slice(0, 200)}`);
        }
      }
      for (const kind of ["dialogs", "violations", "errors"]) {
        found.push(...window.witness[kind].map((one) => `${kind}: ${one}`));
      }
      return window.hostile === undefined ? found : [...found, "a hostile script ran"];
      """;

  private final Sluice sluice;
  private final ChromeDriver driver;
  private final List<String> requests = new ArrayList<>();

  private Browser(Sluice sluice, ChromeDriver driver) {
    this.sluice = sluice;
    this.driver = driver;
  }

  /** Starts a browser. Nothing is open in it yet. */
  static Browser start(Path profile, Sluice sluice) {
    LoggingPreferences logs = new LoggingPreferences();
    logs.enable(LogType.PERFORMANCE, Level.ALL);
    logs.enable(LogType.BROWSER, Level.ALL);
    ChromeOptions options = new ChromeOptions();
    options.setBinary(onPath("chromium"));
    options.setCapability("goog:loggingPrefs", logs);
    options.addArguments(
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--no-first-run",
        // If a text does get out of its place, it still reaches nobody.
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        "--window-size=1280,900",
        "--user-data-dir=" + profile);
    ChromeDriverService service =
        new ChromeDriverService.Builder().usingDriverExecutable(onPath("chromedriver")).build();
    ChromeDriver driver = new ChromeDriver(service, options);
    driver.executeCdpCommand("Page.addScriptToEvaluateOnNewDocument", Map.of("source", WITNESS));
    driver.manage().logs().get(LogType.PERFORMANCE); // what the browser loaded when it started
    return new Browser(sluice, driver);
  }

  private static File onPath(String program) {
    return Arrays.stream(System.getenv("PATH").split(File.pathSeparator, -1))
        .map(folder -> new File(folder, program))
        .filter(File::canExecute)
        .findFirst()
        .orElseThrow();
  }

  ChromeDriver driver() {
    return driver;
  }

  // ---- Going somewhere ------------------------------------------------------------------------

  /** Loads the console anew. */
  void load() {
    driver.get(sluice.url() + "/");
    awaitTrue("a page", "return document.querySelector('main h1') !== null");
  }

  /** Loads the console without a session, and signs in. */
  void signIn(String token) {
    driver.get(sluice.url() + "/");
    driver.manage().deleteAllCookies();
    load();
    awaitText("main form", "Sign in");
    enterToken(token);
  }

  void enterToken(String token) {
    run("document.querySelector('input[name=token]').value = ''");
    type("input[name=token]", token);
    click("main form", "Sign in");
  }

  /** Sets the address as a bookmark does, and waits until the menu shows that page as current. */
  void go(String route) {
    run("location.hash = arguments[0]", "#/" + route);
    awaitTrue(
        route,
        "return document.querySelector('.menu [aria-current]')?.getAttribute('href')"
            + " === '#/' + arguments[0]",
        route.startsWith("client?") ? "clients" : route);
  }

  // ---- Looking --------------------------------------------------------------------------------

  @Nullable Object run(String script, Object... arguments) {
    return driver.executeScript(script, arguments);
  }

  /** The text of the first element that matches, also of what is not visible; "" if none does. */
  String text(String css) {
    return String.valueOf(
        run("return document.querySelector(arguments[0])?.textContent ?? ''", css));
  }

  void awaitText(String css, String text) {
    awaitTrue(
        "'%s' in %s".formatted(text, css),
        "return [...document.querySelectorAll(arguments[0])]"
            + ".some((one) => one.textContent.includes(arguments[1]))",
        css,
        text);
  }

  /** Waits until a script returns true. */
  void awaitTrue(String what, String script, Object... arguments) {
    try {
      new WebDriverWait(driver, PATIENCE, Duration.ofMillis(50))
          .ignoring(JavascriptException.class)
          .until(page -> Boolean.TRUE.equals(run(script, arguments)));
    } catch (TimeoutException e) {
      throw new AssertionError(
          "%s: not within %s; the page shows: %s".formatted(what, PATIENCE, shown()), e);
    }
  }

  private String shown() {
    String text = text("body").replaceAll("\\s+", " ");
    return driver.getCurrentUrl() + ": " + text.substring(0, Math.min(1_000, text.length()));
  }

  // ---- Hands ----------------------------------------------------------------------------------

  /** Clicks the button or link with this label, within the element of a selector. */
  void click(String within, String label) {
    String script =
        """
        return [...document.querySelectorAll(arguments[0])]
          .flatMap((one) => [...one.querySelectorAll("button, a")])
          .find((one) => (one.getAttribute("aria-label") ?? one.textContent).trim() === arguments[1]
            && !one.disabled && one.checkVisibility()) ?? null
        """;
    try {
      new WebDriverWait(driver, PATIENCE, Duration.ofMillis(50))
          .ignoring(StaleElementReferenceException.class, ElementNotInteractableException.class)
          .until(
              page -> {
                if (run(script, within, label) instanceof WebElement button) {
                  button.click();
                  return true;
                }
                return false;
              });
    } catch (TimeoutException e) {
      throw new AssertionError(
          "no button '%s' in %s; the page shows: %s".formatted(label, within, shown()), e);
    }
  }

  void type(String css, CharSequence text) {
    awaitTrue(css, "return document.querySelector(arguments[0]) !== null", css);
    run("document.querySelector(arguments[0]).focus()", css);
    press(text);
  }

  /** Presses keys where the focus is. */
  void press(CharSequence... keys) {
    new Actions(driver).sendKeys(keys).perform();
  }

  void escape() {
    press(Keys.ESCAPE);
  }

  /** Gives the page the width and height of a screen; 0 takes that of the window again. */
  void screen(int width, int height) {
    driver.executeCdpCommand(
        "Emulation.setDeviceMetricsOverride",
        Map.of("width", width, "height", height, "deviceScaleFactor", 0, "mobile", false));
  }

  /** Sets what the system of the reader prefers: light or dark. */
  void prefer(String colours) {
    driver.executeCdpCommand(
        "Emulation.setEmulatedMedia",
        Map.of("features", List.of(Map.of("name", "prefers-color-scheme", "value", colours))));
  }

  // ---- What must not happen -------------------------------------------------------------------

  /** Fails if a text became markup or ran. */
  void checkPage(String where) {
    assertThat(run(STRANGERS)).as(where).isEqualTo(List.of());
  }

  /** Fails if a text became markup or ran, or if something was asked of anybody else until now. */
  void checkNothingStrange(String where) {
    checkPage(where);
    assertThat(
            driver.manage().logs().get(LogType.BROWSER).getAll().stream()
                .filter(entry -> entry.getLevel().intValue() >= Level.WARNING.intValue())
                .map(entry -> entry.getMessage())
                .filter(message -> !message.contains("Failed to load resource")))
        .as("the browser's console: " + where)
        .isEmpty();
    assertThat(newRequests()).as("requests: " + where).allMatch(this::isOfTheConsole);
  }

  private List<String> newRequests() {
    List<String> found = new ArrayList<>();
    driver.manage().logs().get(LogType.PERFORMANCE).getAll().stream()
        .map(entry -> message(entry.getMessage()))
        .forEach(
            message -> {
              switch (message.path("method").asText()) {
                case "Network.requestWillBeSent" ->
                    found.add(message.at("/params/request/url").asText());
                case "Network.webSocketCreated", "Network.webTransportCreated" ->
                    found.add(message.at("/params/url").asText());
                default -> {}
              }
            });
    requests.addAll(found);
    return found;
  }

  private static JsonNode message(String json) {
    try {
      return MAPPER.readTree(json).path("message");
    } catch (JsonProcessingException e) {
      throw new AssertionError(json, e);
    }
  }

  private boolean isOfTheConsole(String url) {
    // Chromium's own picture in a field for dates. The policy allows the page itself none of these.
    if (url.startsWith("data:image/svg+xml;base64,")) {
      return true;
    }
    return url.startsWith(sluice.url() + "/")
        && url.substring(sluice.url().length())
            .matches(
                "/(#.*)?|/console/[a-z]+\\.(js|css|svg)|/console/api/(session|overview|series|live|"
                    + "clients|client|locks|accounts|overrides(/\\w+)?|rules|rule-names|audit)(\\?[^#]*)?");
  }

  /** Every request so far. */
  List<String> requests() {
    newRequests();
    return List.copyOf(requests);
  }

  @Override
  public void close() {
    driver.quit();
  }
}
