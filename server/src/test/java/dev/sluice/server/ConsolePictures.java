package dev.sluice.server;

import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.server.admin.AdminToken;
import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Base64;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Stream;
import org.openqa.selenium.By;
import org.openqa.selenium.chrome.ChromeDriver;
import org.openqa.selenium.chrome.ChromeDriverService;
import org.openqa.selenium.chrome.ChromeOptions;
import org.openqa.selenium.support.ui.WebDriverWait;

/**
 * Takes the pictures of the console: two services on one Redis under a load, in a real browser.
 * {@code ./sluice pictures} runs it.
 */
final class ConsolePictures {
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final int WIDE = 1440;
  private static final int NARROW = 390;
  private static final int HIGHEST = 1_200;
  private static final int HIGHEST_LIST = 860;
  private static final int HIGHEST_NARROW = 1_500;
  private static final int SHORTEST_SECONDS = 20;

  /** Latencies are of the last ten seconds. Loading the page must not be among them. */
  private static final int LATENCY_MILLIS = 15_000;

  private static final String HAS_ROWS = "document.querySelectorAll('main tbody tr').length > 0";
  private static final String IS_LIVE =
      "[...document.querySelectorAll('.pulse .dot.good')].length > 0 && ";

  /** A picture of one page: where it is, and when it is complete. */
  private record Picture(String name, String hash, int highest, String complete) {}

  private static final List<Picture> PICTURES =
      List.of(
          new Picture(
              "overview",
              "#/overview",
              HIGHEST,
              HAS_ROWS + " && document.querySelectorAll('canvas[aria-label]').length === 2"),
          new Picture("clients", "#/clients?sort=refused", HIGHEST_LIST, HAS_ROWS),
          new Picture(
              "client", "#/client?identity=ip%3D203.0.113.66%26login%3Dadmin", 960, HAS_ROWS),
          new Picture("locks", "#/locks", HIGHEST_LIST, HAS_ROWS),
          new Picture("overrides", "#/overrides", HIGHEST_LIST, HAS_ROWS),
          new Picture("rules", "#/rules", HIGHEST_LIST, "document.querySelector('.changes')"),
          new Picture(
              "live",
              "#/live",
              HIGHEST_LIST,
              "document.querySelectorAll('main tbody tr').length > 15"),
          new Picture("audit", "#/audit", HIGHEST_LIST, HAS_ROWS));

  private static final PrintStream OUT = System.out;
  private static final Logger SELENIUM = Logger.getLogger("org.openqa.selenium");

  private final AdminToken oncall = AdminToken.random();
  private final AdminToken support = AdminToken.random();
  private final HttpClient client = HttpClient.newHttpClient();
  private final Path folder;
  private final Path target;
  private final int seconds;
  private final boolean isAll;

  private ConsolePictures(Path folder, Path target, int seconds, boolean isAll) {
    this.folder = folder;
    this.target = target;
    this.seconds = seconds;
    this.isAll = isAll;
  }

  /**
   * Arguments: the folder of the pictures, for how many seconds there is a load, and perhaps "all"
   * for every page in dark colours and on a narrow screen, too.
   */
  public static void main(String[] arguments) throws Exception {
    SELENIUM.setLevel(Level.SEVERE); // it warns of browsers newer than itself
    int seconds = Integer.parseInt(arguments[1]);
    if (seconds < SHORTEST_SECONDS) {
      throw new IllegalArgumentException(
          "seconds: %d (expected: at least %d)".formatted(seconds, SHORTEST_SECONDS));
    }
    Path folder = Files.createTempDirectory("sluice-pictures");
    // Somebody who stops this leaves no service, Redis or browser behind.
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> ProcessHandle.current().descendants().forEach(ProcessHandle::destroy)));
    try {
      boolean isAll = arguments.length > 2 && arguments[2].equals("all");
      new ConsolePictures(folder, Path.of(arguments[0]), seconds, isAll).take();
    } finally {
      remove(folder);
    }
    System.exit(0);
  }

  private static void remove(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(file);
      }
    }
  }

  private void take() throws Exception {
    Path rules = Files.writeString(folder.resolve("rules.yaml"), ConsoleTraffic.RULES);
    Files.writeString(
        folder.resolve("operators.yaml"),
        "operators:\n  oncall: {token-sha256: \"%s\"}\n  support: {token-sha256: \"%s\"}\n"
            .formatted(AdminToken.sha256(oncall.text()), AdminToken.sha256(support.text())));
    int one = Program.freePort();
    int two = Program.freePort();
    try (RedisProcess redis = RedisProcess.start(RedisProcess.newest());
        Program first = service(one, redis);
        Program second = service(two, redis)) {
      first.awaitPort(one);
      second.awaitPort(two);
      OUT.printf("Two services run on one Redis. The load takes %d seconds.%n", seconds);
      try (ConsoleTraffic traffic = ConsoleTraffic.start(List.of(one, two), seconds)) {
        ChromeDriver browser = browser();
        try {
          photograph(browser, one, rules);
        } finally {
          browser.quit();
        }
        OUT.printf("The load was %,d calls.%n", traffic.calls());
      }
    }
  }

  private Program service(int port, RedisProcess redis) throws IOException {
    return Program.start(
        folder,
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Xmx256m",
            "-XX:TieredStopAtLevel=1",
            "-cp",
            System.getProperty("sluice.service"),
            "dev.sluice.server.commands.Main",
            "serve",
            "--port=" + port,
            "--store=" + redis.uri(),
            "--store-deadline=5s",
            "--nodes=2",
            "--rules=rules.yaml",
            "--operators=operators.yaml"));
  }

  // ---- What operators do ----------------------------------------------------------------------

  private void photograph(ChromeDriver browser, int port, Path rules) throws Exception {
    String url = "http://127.0.0.1:" + port;
    browser.executeCdpCommand("Emulation.setLocaleOverride", Map.of("locale", "en-GB"));
    colours(browser, "light");
    size(browser, WIDE, 900);
    browser.get(url + "/");
    await(browser, "document.querySelector('.signin-form')");
    take(browser, "sign-in", WIDE, 620);
    browser.findElement(By.name("token")).sendKeys(oncall.text());
    browser.findElement(By.cssSelector(".signin-form button")).click();
    // A console that is open from the start is what nodes send samples of refusals to.
    await(browser, IS_LIVE + HAS_ROWS);

    pause(0.35);
    change(
        support,
        "PUT",
        url,
        "/v1/locks/Api?customer=travel-blog",
        lock("2h", "unpaid since October"));
    String faster = ConsoleTraffic.RULES.replace("limit: 40 per 1m", "limit: 60 per 1m");
    Files.writeString(rules, faster);
    pause(0.15);
    change(oncall, "PUT", url, "/v1/locks/Search?ip=192.0.2.44", lock("45m", "crawler, see #812"));
    override(
        support,
        url,
        "Api",
        "customer",
        "ticket-shop",
        "5000 per 1m",
        7,
        "launch week, ticket 4711");
    override(oncall, url, "Search", "ip", "198.51.100.7", "600 per 1m", 1, "partner, load test");
    pause(0.2);
    change(oncall, "DELETE", url, "/v1/locks/Search?ip=192.0.2.44", "");
    override(
        oncall, url, "Api", "customer", "nightly-sync", "60 per 1m", 2, "runaway job, until fixed");
    change(
        support, "PUT", url, "/v1/locks/SignIn?login=root&ip=203.0.113.66", lock("7d", "attack"));
    change(support, "DELETE", url, "/v1/accounts/SignIn?login=ann&ip=203.0.113.66", "");
    pause(0.28);

    for (Picture picture : PICTURES) {
      open(browser, url, picture);
      if (picture.name.equals("overview")) {
        Thread.sleep(LATENCY_MILLIS);
      }
      take(browser, picture.name, WIDE, picture.highest);
    }
    colours(browser, "dark");
    open(browser, url, PICTURES.get(0));
    take(browser, "overview-dark", WIDE, HIGHEST);
    colours(browser, "light");
    size(browser, NARROW, 844);
    open(browser, url, PICTURES.get(0));
    take(browser, "overview-narrow", NARROW, HIGHEST_NARROW);
    if (isAll) {
      everythingElse(browser, url);
    }
  }

  /** Pages that are looked at while working on them, and are in no document. */
  private void everythingElse(ChromeDriver browser, String url) throws Exception {
    for (Picture picture : PICTURES.subList(1, PICTURES.size())) {
      open(browser, url, picture);
      take(browser, picture.name + "-narrow", NARROW, HIGHEST_NARROW);
    }
    colours(browser, "dark");
    size(browser, WIDE, 900);
    for (Picture picture : PICTURES.subList(1, PICTURES.size())) {
      open(browser, url, picture);
      take(browser, picture.name + "-dark", WIDE, picture.highest);
    }
    browser.executeScript("location.hash = '#/overview?wall'");
    await(browser, "document.querySelectorAll('canvas[aria-label]').length === 2");
    take(browser, "wall-dark", WIDE, 900);
    colours(browser, "light");
    open(browser, url, PICTURES.get(2));
    browser.executeScript(
        "[...document.querySelectorAll('.tools button')].find((b) => b.textContent === 'Override').click()");
    await(browser, "document.querySelector('dialog select')");
    take(browser, "dialog", WIDE, 900);
  }

  /** Lets a part of the load pass. */
  private void pause(double part) throws InterruptedException {
    Thread.sleep((long) (part * seconds * 1_000));
  }

  private static String lock(String duration, String reason) {
    return "{\"duration\": \"%s\", \"reason\": \"%s\"}".formatted(duration, reason);
  }

  private void override(
      AdminToken who,
      String url,
      String rule,
      String facet,
      String value,
      String limit,
      int days,
      String reason)
      throws Exception {
    String body =
        "{\"rule\": \"%s\", \"when\": {\"%s\": \"%s\"}, \"limit\": \"%s\", \"until\": \"%s\", \"reason\": \"%s\"}"
            .formatted(
                rule, facet, value, limit, Instant.now().plus(Duration.ofDays(days)), reason);
    change(who, "PUT", url, "/v1/overrides", body);
  }

  private void change(AdminToken who, String method, String url, String path, String body)
      throws Exception {
    HttpResponse<String> answer =
        client.send(
            HttpRequest.newBuilder(URI.create(url + path))
                .header("Authorization", "Bearer " + who.text())
                .header("Content-Type", "application/json")
                .method(method, HttpRequest.BodyPublishers.ofString(body))
                .build(),
            HttpResponse.BodyHandlers.ofString());
    if (answer.statusCode() >= 300 && answer.statusCode() != 404) {
      throw new IllegalStateException(
          "%s %s: %d %s".formatted(method, path, answer.statusCode(), answer.body()));
    }
  }

  // ---- The browser ----------------------------------------------------------------------------

  private ChromeDriver browser() {
    ChromeOptions options = new ChromeOptions();
    options.setBinary(onPath("chromium"));
    options.addArguments(
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--hide-scrollbars",
        "--no-first-run",
        "--user-data-dir=" + folder.resolve("profile"));
    ChromeDriverService service =
        new ChromeDriverService.Builder().usingDriverExecutable(onPath("chromedriver")).build();
    return new ChromeDriver(service, options);
  }

  private static File onPath(String program) {
    return Arrays.stream(System.getenv("PATH").split(File.pathSeparator, -1))
        .map(folder -> new File(folder, program))
        .filter(File::canExecute)
        .findFirst()
        .orElseThrow(() -> new IllegalStateException(program + ": not found on the PATH"));
  }

  private static void colours(ChromeDriver browser, String scheme) {
    browser.executeCdpCommand(
        "Emulation.setEmulatedMedia",
        Map.of("features", List.of(Map.of("name", "prefers-color-scheme", "value", scheme))));
  }

  private static void size(ChromeDriver browser, int width, long height) {
    browser.executeCdpCommand(
        "Emulation.setDeviceMetricsOverride",
        Map.of("width", width, "height", height, "deviceScaleFactor", 1, "mobile", false));
  }

  private static void open(ChromeDriver browser, String url, Picture picture) {
    browser.get(url + "/" + picture.hash);
    browser.navigate().refresh();
    await(browser, IS_LIVE + picture.complete);
    browser.executeScript(
        "[...document.querySelectorAll('.rule-list summary')].find((one) => one.textContent.startsWith('SignIn'))?.click()");
  }

  private static void await(ChromeDriver browser, String condition) {
    new WebDriverWait(browser, PATIENCE)
        .withMessage(condition)
        .until(page -> browser.executeScript("return Boolean(" + condition + ")").equals(true));
  }

  /** Writes what is on the page, as high as the page is but not higher than that. */
  private void take(ChromeDriver browser, String name, int width, long highest) throws Exception {
    size(browser, width, 400);
    Thread.sleep(700); // numbers and fonts arrive; no event says that the last has
    long high =
        (Long) browser.executeScript("return Math.ceil(document.documentElement.scrollHeight)");
    long wide = (Long) browser.executeScript("return document.documentElement.scrollWidth");
    size(browser, width, Math.min(high, highest));
    Thread.sleep(400); // the page is laid out and the charts are drawn again
    Map<String, Object> answer =
        browser.executeCdpCommand("Page.captureScreenshot", Map.of("format", "png"));
    Files.createDirectories(target);
    Path file = target.resolve(name + ".png");
    Files.write(file, Base64.getDecoder().decode((String) answer.get("data")));
    String remark = wide > width ? "  wider than the screen: " + wide : "";
    OUT.printf("%s  %d kB%s%n", file.getFileName(), Files.size(file) / 1_024, remark);
  }
}
