package dev.sluice.demo;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testing.Needs;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.openqa.selenium.By;
import org.openqa.selenium.Dimension;
import org.openqa.selenium.OutputType;
import org.openqa.selenium.chrome.ChromeDriver;
import org.openqa.selenium.chrome.ChromeDriverService;
import org.openqa.selenium.chrome.ChromeOptions;
import org.openqa.selenium.support.ui.WebDriverWait;

/** The page in a real browser. */
class PageTest {
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  @TempDir Path profile;

  @Test
  @Needs({"chromium", "chromedriver"})
  void threeWrongCodesShowACountdownUntilTheLockIsLifted() throws IOException {
    try (RunningShop shop = new RunningShop("memory")) {
      ChromeDriver browser = browser();
      try {
        browser.manage().window().setSize(new Dimension(720, 860));
        browser.get(shop.url());
        long before = System.currentTimeMillis();
        for (String left : new String[] {"2 more tries", "1 more try", "Wrong code."}) {
          enter("111111", browser);
          wait(browser, "message", left);
        }

        new WebDriverWait(browser, PATIENCE)
            .until(page -> page.findElement(By.id("locked")).isDisplayed());
        wait(browser, "countdown", ":");
        long after = System.currentTimeMillis();
        String end = browser.findElement(By.id("until")).getDomAttribute("datetime");
        assertThat(Instant.parse(end).toEpochMilli())
            .isBetween(before + 1_800_000 - 1, after + 1_800_000 + 1);
        assertThat(browser.findElement(By.id("countdown")).getText())
            .matches("(30:00|29:[0-5]\\d)");
        assertThat(browser.findElement(By.id("send")).isEnabled()).isFalse();
        keep(browser.getScreenshotAs(OutputType.BYTES));

        assertThat(shop.send("DELETE", "/office/locks?login=ann").body())
            .isEqualTo("{\"lifted\":true}");
        wait(browser, "message", "You can try again.");
        assertThat(browser.findElement(By.id("locked")).isDisplayed()).isFalse();
        enter(ShopController.CODE, browser);
        wait(browser, "message", "Welcome back.");
      } finally {
        browser.quit();
      }
    }
  }

  @Test
  @Needs({"chromium", "chromedriver"})
  void fiveWrongPasswordsShowACountdownUntilTheLockIsLifted() {
    try (RunningShop shop = new RunningShop("memory")) {
      ChromeDriver browser = browser();
      try {
        browser.get(shop.url() + "/member");
        wait(browser, "title", "Sign in");
        long before = System.currentTimeMillis();
        for (int i = 0; i < 4; i++) {
          signIn("guess", browser);
          wait(browser, "message", "Wrong login or password.");
          assertThat(browser.findElement(By.id("locked")).isDisplayed()).isFalse();
        }

        signIn("guess", browser);

        new WebDriverWait(browser, PATIENCE)
            .until(page -> page.findElement(By.id("locked")).isDisplayed());
        wait(browser, "countdown", ":");
        long after = System.currentTimeMillis();
        String end = browser.findElement(By.id("until")).getDomAttribute("datetime");
        assertThat(Instant.parse(end).toEpochMilli())
            .isBetween(before + 600_000 - 1, after + 600_000 + 1);
        assertThat(browser.findElement(By.id("countdown")).getText()).matches("(10:00|9:[0-5]\\d)");

        assertThat(shop.send("DELETE", "/office/logins?login=ann&ip=127.0.0.1").body())
            .isEqualTo("{\"lifted\":true}");
        browser.get(shop.url() + "/sign-in");
        assertThat(browser.findElement(By.id("locked")).isDisplayed()).isFalse();
        signIn("river", browser);
        wait(browser, "title", "Welcome, ann");
      } finally {
        browser.quit();
      }
    }
  }

  private static void signIn(String password, ChromeDriver browser) {
    browser.findElement(By.id("password")).sendKeys(password);
    browser.executeScript("window.isOldPage = true");
    browser.findElement(By.id("send")).click();
    // Asked of the page itself: an element of a page that is going away may be an error.
    new WebDriverWait(browser, PATIENCE)
        .until(
            page ->
                browser.executeScript(
                    "return !window.isOldPage && document.readyState === 'complete'"));
  }

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
        "--no-first-run",
        "--user-data-dir=" + profile);
    ChromeDriverService service =
        new ChromeDriverService.Builder().usingDriverExecutable(onPath("chromedriver")).build();
    return new ChromeDriver(service, options);
  }

  private static File onPath(String program) {
    return Arrays.stream(System.getenv("PATH").split(File.pathSeparator, -1))
        .map(folder -> new File(folder, program))
        .filter(File::canExecute)
        .findFirst()
        .orElseThrow();
  }

  private static void enter(String code, ChromeDriver browser) {
    browser.findElement(By.id("code")).clear();
    browser.findElement(By.id("code")).sendKeys(code);
    browser.findElement(By.id("send")).click();
  }

  private static void wait(ChromeDriver browser, String id, String text) {
    new WebDriverWait(browser, PATIENCE)
        .until(page -> page.findElement(By.id(id)).getText().contains(text));
  }

  /**
   * Tests change no file of the project; {@code -Ddemo.screenshot=../../docs/demo-countdown.png}
   * renews that of the documentation.
   */
  private static void keep(byte[] screenshot) throws IOException {
    String file = System.getProperty("demo.screenshot", "target/countdown.png");
    Files.createDirectories(Path.of(file).toAbsolutePath().getParent());
    Files.write(Path.of(file), screenshot);
  }
}
