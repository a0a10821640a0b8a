package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.LockPage;
import dev.sluice.internal.Bounds;
import dev.sluice.server.api.Receipts;
import dev.sluice.server.health.HealthRoutes;
import dev.sluice.server.http.Replies;
import dev.sluice.server.http.Settings;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;

/** The bounds in openapi.yaml and docs/service.md are those that hold. */
class OpenApiTest {
  private static final Object DOCUMENT =
      new Load(LoadSettings.builder().build())
          .loadFromString(
              new String(HealthRoutes.resource("openapi.yaml"), StandardCharsets.UTF_8));

  /** What stands at a path: names of members, and numbers of elements. */
  private static Object at(String... path) {
    Object found = DOCUMENT;
    for (String step : path) {
      found =
          found instanceof List<?> list
              ? list.get(Integer.parseInt(step))
              : ((Map<?, ?>) found).get(step);
    }
    return found;
  }

  private static Object schema(String path) {
    return at(("components/schemas/" + path).split("/", -1));
  }

  @Test
  void theBoundsOfACallAreThoseOfTheLibrary() {
    assertThat(schema("Identity/maxProperties")).isEqualTo(Bounds.MOST_FACETS);
    assertThat(schema("Identity/propertyNames/maxLength")).isEqualTo(Bounds.LONGEST_FACET_NAME);
    assertThat(schema("Identity/additionalProperties/maxLength"))
        .isEqualTo(Bounds.LONGEST_FACET_VALUE);
    assertThat(schema("Call/properties/rules/maxItems")).isEqualTo(Bounds.MOST_RULES);
    assertThat(schema("Call/properties/rules/items/maxLength")).isEqualTo(Bounds.LONGEST_RULE_NAME);
    assertThat(schema("Call/properties/rule/maxLength")).isEqualTo(Bounds.LONGEST_RULE_NAME);
    assertThat(schema("Call/properties/id/maxLength")).isEqualTo(Bounds.LONGEST_ID);
    assertThat(schema("Costs/maxProperties")).isEqualTo(Bounds.MOST_RULES);
    assertThat(schema("Costs/propertyNames/maxLength")).isEqualTo(Bounds.LONGEST_RULE_NAME);
    assertThat(schema("Costs/additionalProperties/maximum")).isEqualTo(Limit.LARGEST);
    assertThat(schema("Call/properties/cost/maximum")).isEqualTo(Limit.LARGEST);
  }

  @Test
  void theBoundsOfOtherRequestsAreThoseThatHold() {
    Object settle = at("paths", "/v1/settle", "post", "requestBody", "content");
    Object lock = at("paths", "/v1/locks/{rule}", "put", "requestBody", "content");

    assertThat(property(settle, "receipt")).containsEntry("maxLength", Receipts.LONGEST_TEXT);
    assertThat(property(lock, "reason")).containsEntry("maxLength", Bounds.LONGEST_REASON);
    assertThat((Map<?, ?>) at("paths", "/v1/locks", "parameters", "1", "schema"))
        .isEqualTo(
            Map.of("type", "integer", "minimum", 1, "maximum", LockPage.LARGEST, "default", 100));
    assertThat(schema("LockPage/properties/locks/maxItems")).isEqualTo(LockPage.LARGEST);
  }

  private static Map<Object, Object> property(Object content, String name) {
    Object schema = ((Map<?, ?>) ((Map<?, ?>) content).get("application/json")).get("schema");
    Map<?, ?> properties = (Map<?, ?>) ((Map<?, ?>) schema).get("properties");
    return Map.copyOf((Map<?, ?>) properties.get(name));
  }

  @Test
  void everyWayToCountIsNamed() {
    List<String> ways =
        Arrays.stream(Decision.CountedBy.values())
            .map(by -> by.name().toLowerCase(Locale.ROOT))
            .toList();

    assertThat(schema("Decision/properties/countedBy/enum")).isEqualTo(ways);
  }

  /** Each row of the table of bounds: what it names, and the number there. */
  @ParameterizedTest
  @CsvSource({
    "facets of a call, MOST_FACETS",
    "name of a facet, LONGEST_FACET_NAME",
    "value of a facet, LONGEST_FACET_VALUE",
    "rules of a call, MOST_RULES",
    "name of a rule, LONGEST_RULE_NAME",
    "accounts that a call pays, MOST_ACCOUNTS",
    "limits of those accounts, MOST_LIMITS",
    "costs of a call or a settlement, MOST_RULES",
    "durations of a growing lock, MOST_LOCK_DURATIONS",
    "id of a call, LONGEST_ID",
    "reason of a lock, LONGEST_REASON",
  })
  void theTableOfBoundsIsTrue(String row, String bound) throws Exception {
    int value = Bounds.class.getField(bound).getInt(null);

    assertThat(Files.readString(Path.of("..", "docs", "service.md")))
        .containsPattern("\n\\| " + row + " \\| " + "%,d".formatted(value) + "\\b");
  }

  @Test
  void theTableOfBoundsNamesTheLargestBodyReceiptAndError() throws Exception {
    assertThat(Files.readString(Path.of("..", "docs", "service.md")))
        .contains(
            "| body of a request | %,d bytes".formatted(Settings.defaults().mostRequestBytes()))
        .contains("| receipt | %,d characters".formatted(Receipts.LONGEST_TEXT))
        .contains(
            "| answer to a request that is refused | %,d bytes".formatted(Replies.LARGEST_PROBLEM))
        .contains("| locks on a page | %,d".formatted(LockPage.LARGEST));
  }
}
