package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.rules.Until;
import dev.sluice.testing.Needs;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A search of clients finds also those that are refused often and not busy. */
@Needs({"chromium", "chromedriver"})
class ClientSearchIT {
  private static final int LISTED = 200;
  private static final String RULES =
      """
      facets: {login: caller}
      rules:
        Free: {by: [login], limit: 1000 per 1h}
        Tight: {by: [login], limit: 1 per 1h}
      """;

  @TempDir private Path profile;

  private static void call(Sluice sluice, String rule, String login) {
    String body = "{\"rule\": \"%s\", \"identity\": {\"login\": \"%s\"}}".formatted(rule, login);
    assertThat(sluice.post("/v1/check", body).status()).isEqualTo(200);
  }

  @Test
  void bothListsAreSearchedToTheirEnd() {
    try (Sluice sluice = Sluice.start(Sluice.patient(100), RULES)) {
      for (int i = 0; i < LISTED; i++) {
        for (int time = 0; time < 4; time++) {
          call(sluice, "Free", "busy%03d".formatted(i));
        }
      }
      for (int time = 0; time < 3; time++) {
        call(sluice, "Free", "quiet");
        call(sluice, "Tight", "refused");
      }
      ConsoleSession console = ConsoleSession.begin(sluice, Sluice.TOKEN);
      Until.within(
          Duration.ofSeconds(20),
          "all clients",
          () ->
              console.get("clients?limit=200").json().path("clients").size() == LISTED
                  && console.get("clients?sort=refused").response().body().contains("refused"));
      try (Browser browser = Browser.start(profile, sluice)) {
        browser.signIn(Sluice.TOKEN);
        browser.awaitText(".pulse", "Live");
        browser.go("clients");
        browser.awaitTrue(
            "all that are listed",
            "return document.querySelectorAll('.clients-card tbody tr').length === 200");

        browser.type("[data-search]", "login=refused");

        browser.awaitText(".clients-card tbody tr", "refused");
        browser.checkNothingStrange("clients");
      }
    }
  }
}
