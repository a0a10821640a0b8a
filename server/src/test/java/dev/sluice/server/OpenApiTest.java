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
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.api.lowlevel.Parse;
import org.snakeyaml.engine.v2.events.Event;

/** openapi.yaml can be read by generators; its bounds and those of docs/service.md hold. */
class OpenApiTest {
  private static final String TEXT =
      new String(HealthRoutes.resource("openapi.yaml"), StandardCharsets.UTF_8);
  private static final Object DOCUMENT =
      new Load(LoadSettings.builder().build()).loadFromString(TEXT);
  private static final Set<String> METHODS =
      Set.of("get", "head", "post", "put", "patch", "delete", "options", "trace");

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

  /** Some generators do not follow aliases of YAML. */
  @Test
  void nothingIsAnAlias() {
    Iterable<Event> events = new Parse(LoadSettings.builder().build()).parseString(TEXT);

    assertThat(events).isNotEmpty().noneMatch(event -> event.getEventId() == Event.ID.Alias);
  }

  /** In {a: b, c} an unquoted comma makes c a name of its own. */
  @Test
  void noTextIsCutAtAComma() {
    List<String> cut = new ArrayList<>();
    addNulls("", DOCUMENT, cut);

    assertThat(cut).isEmpty();
  }

  private static void addNulls(String path, Object value, List<String> found) {
    if (value instanceof Map<?, ?> map) {
      map.forEach((name, member) -> addNulls(path + "/" + name, member, found));
    } else if (value instanceof List<?> list && !path.endsWith("/enum")) {
      list.forEach(member -> addNulls(path, member, found));
    } else if (value == null) {
      found.add(path);
    }
  }

  /** Generators name methods by operationId and classes by tag. */
  @Test
  void everyOperationHasANameOfItsOwn() {
    List<String> tags = ((List<?>) at("tags")).stream().map(tag -> text(tag, "name")).toList();
    List<String> ids = new ArrayList<>();
    for (Object path : ((Map<?, ?>) at("paths")).values()) {
      for (Map.Entry<?, ?> entry : ((Map<?, ?>) path).entrySet()) {
        if (METHODS.contains(entry.getKey())) {
          Object operation = entry.getValue();
          ids.add(text(operation, "operationId"));
          assertThat(text(operation, "summary")).isNotBlank();
          assertThat(text(operation, "description")).isNotBlank();
          assertThat((List<?>) ((Map<?, ?>) operation).get("tags"))
              .hasSize(1)
              .allMatch(tags::contains);
        }
      }
    }

    assertThat(ids).hasSizeGreaterThan(20).doesNotHaveDuplicates();
  }

  private static String text(Object map, String name) {
    return String.valueOf(((Map<?, ?>) map).get(name));
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
            "| answer that lists what is wrong with a request | %,d bytes"
                .formatted(Replies.LARGEST_PROBLEM))
        .contains("| locks on a page | %,d".formatted(LockPage.LARGEST));
  }
}
