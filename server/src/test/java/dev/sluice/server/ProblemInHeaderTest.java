package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.sluice.server.http.ProblemInHeader;
import dev.sluice.server.http.Settings;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The body of a refusal as a header of the gate, for proxies that throw bodies away. */
class ProblemInHeaderTest {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private static final String RULES =
      """
      facets:
        who: {header: X-Who}
        size: {query: größe}
      rules:
        Who: {by: [who], limit: 1 per 1h}
        Size: {by: [size], limit: 1 per 1h}
      """;

  private static Sluice.Answer ask(Sluice sluice, String path, String... headers) {
    return sluice.send(sluice.request("GET", path).headers(headers));
  }

  @Test
  void everyRefusalOfTheGateIsAHeaderForWhoAsks() {
    try (Sluice sluice = Sluice.start(Settings.defaults(), RULES)) {
      ask(sluice, "/v1/gate/Who", "X-Who", "ann");
      Sluice.Answer denied =
          ask(sluice, "/v1/gate/Who", "X-Who", "ann", "Sluice-Problem", "header");
      Sluice.Answer incomplete = ask(sluice, "/v1/gate/Who", "Sluice-Problem", "header");
      Sluice.Answer unknown = ask(sluice, "/v1/gate/Nobody", "Sluice-Problem", "header");

      assertThat(denied.status()).isEqualTo(429);
      assertThat(denied.header("Retry-After")).isEqualTo("3600");
      assertThat(denied.header("Sluice-Problem")).contains("\"title\":\"Too many requests\"");
      assertThat(incomplete.status()).isEqualTo(400);
      assertThat(incomplete.header("Sluice-Problem"))
          .isEqualTo(ask(sluice, "/v1/gate/Who", "X", "y").response().body());
      assertThat(unknown.status()).isEqualTo(404);
      assertThat(unknown.header("Sluice-Problem"))
          .isEqualTo(ask(sluice, "/v1/gate/Nobody", "X", "y").response().body());
      assertThat(List.of(denied, incomplete, unknown))
          .allSatisfy(each -> assertThat(each.response().body()).isEmpty());
    }
  }

  @Test
  void nobodyElseGetsTheHeader() {
    try (Sluice sluice = Sluice.start(Settings.defaults(), RULES)) {
      Sluice.Answer allowed =
          ask(sluice, "/v1/gate/Who", "X-Who", "ann", "Sluice-Problem", "header");
      Sluice.Answer denied = ask(sluice, "/v1/gate/Who", "X-Who", "ann");
      Sluice.Answer other = ask(sluice, "/v1/gate/Who", "X-Who", "ann", "Sluice-Problem", "yes");

      assertThat(allowed.status()).isEqualTo(200);
      assertThat(denied.status()).isEqualTo(429);
      assertThat(List.of(allowed, denied, other))
          .allSatisfy(each -> assertThat(each.header("Sluice-Problem")).isEqualTo("(none)"));
    }
  }

  @Test
  void theHeaderIsTheSameJsonInAscii() throws Exception {
    try (Sluice sluice = Sluice.start(Settings.defaults(), RULES)) {
      String body = ask(sluice, "/v1/gate/Size", "X", "y").response().body();
      String header =
          ask(sluice, "/v1/gate/Size", "Sluice-Problem", "header").header("Sluice-Problem");

      assertThat(body).contains("größe");
      assertThat(header).matches("[ -~]+").contains("gr\\u00f6\\u00dfe");
      assertThat(MAPPER.readTree(header)).isEqualTo(MAPPER.readTree(body));
    }
  }

  @Test
  void aProblemThatIsTooLongForAHeaderIsOnlyInTheBody() {
    StringBuilder rules = new StringBuilder("facets:\n");
    List<String> names = new ArrayList<>();
    for (int i = 0; i < 16; i++) {
      names.add("a-facet-with-a-name-as-long-as-names-can-be-%02d".formatted(i));
      rules.append("  %s: {header: X-%s}\n".formatted(names.get(i), names.get(i).repeat(2)));
    }
    rules.append(
        "rules:\n  Many: {by: [%s], limit: 1 per 1h}\n".formatted(String.join("+", names)));
    try (Sluice sluice = Sluice.start(Settings.defaults(), rules.toString())) {
      Sluice.Answer refused = ask(sluice, "/v1/gate/Many", "Sluice-Problem", "header");

      assertThat(refused.status()).isEqualTo(400);
      assertThat(refused.response().body().length()).isGreaterThan(ProblemInHeader.LONGEST);
      assertThat(refused.header("Sluice-Problem")).isEqualTo("(none)");
    }
  }

  @Test
  void aQueryMayHoldTwoDots() {
    try (Sluice sluice = Sluice.start(Settings.defaults(), RULES)) {
      Sluice.Answer answer = ask(sluice, "/v1/gate/Who?next=../cart", "X-Who", "ann");

      assertThat(answer.status()).isEqualTo(200);
    }
  }
}
