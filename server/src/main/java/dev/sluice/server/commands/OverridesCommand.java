package dev.sluice.server.commands;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import dev.sluice.Identity;
import dev.sluice.internal.Durations;
import dev.sluice.internal.Text;
import dev.sluice.server.api.DecisionJson;
import java.io.IOException;
import java.io.PrintWriter;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code ./sluice overrides list|set|remove}: other limits for some callers, at once. */
@Command(
    name = "overrides",
    description =
        "Lists, makes and removes overrides of a running service: other limits for some callers, without a change of the rule file.",
    synopsisSubcommandLabel = "(list | set | remove)",
    mixinStandardHelpOptions = true)
final class OverridesCommand {
  /** Names a mistake instead of choosing one of two values, or dropping what follows. */
  private static final ObjectMapper STRICT =
      new ObjectMapper()
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .enable(DeserializationFeature.FAIL_ON_READING_DUP_TREE_KEY);

  @Spec private CommandSpec spec = CommandSpec.create();

  @Command(
      name = "list",
      description = "Lists overrides, the newest first.",
      mixinStandardHelpOptions = true,
      defaultValueProvider = FromEnvironment.class)
  int list(
      @Mixin Remote remote,
      @Option(
              names = "--matching",
              paramLabel = "TEXT",
              description = "only those with this text in rule, caller, reason or author")
          @Nullable String matching)
      throws IOException {
    ObjectNode whole = Remote.MAPPER.createObjectNode();
    ArrayNode overrides = whole.putArray("overrides");
    String next = null;
    do {
      String path =
          "/v1/overrides?limit=1000"
              + (matching == null ? "" : "&q=" + Remote.encoded(matching))
              + (next == null ? "" : "&after=" + Remote.encoded(next));
      JsonNode page = remote.send("GET", path, null);
      page.path("overrides").forEach(overrides::add);
      next = page.path("next").asText(null);
    } while (next != null);
    if (remote.wantsJson()) {
      out().println(whole.toPrettyString());
    } else if (overrides.isEmpty()) {
      out().println("there are no overrides");
    } else {
      table(overrides).print(out());
    }
    out().flush();
    return 0;
  }

  @Command(
      name = "set",
      description = "Makes an override, in force on every node within a second.",
      mixinStandardHelpOptions = true,
      defaultValueProvider = FromEnvironment.class)
  int set(
      @Mixin Remote remote,
      @Parameters(index = "0", paramLabel = "RULE", description = "the name of the rule")
          String rule,
      @Parameters(
              index = "1..*",
              arity = "1..*",
              paramLabel = "FACET=VALUE",
              description = "whom it is for, such as login=ann")
          List<String> facets,
      @Option(
              names = "--limit",
              paramLabel = "LIMIT",
              description =
                  "such as '500 per 1m', or JSON as overrides list prints it, such as '{\"token-bucket\":{\"capacity\":100,\"refill\":10,\"per\":\"1s\"}}'; several for several limits; default: the limits of the rule, then --lock is needed")
          @Nullable List<String> limits,
      @Option(
              names = "--lock",
              paramLabel = "DURATION",
              description =
                  "how long a caller is locked out after a denial, such as 30m, or none; several for locks that grow; default: as in the rule")
          @Nullable List<String> locks,
      @Option(
              names = "--until",
              paramLabel = "TIME",
              description = "when it ends, such as 2030-01-01T00:00:00Z; default: never")
          @Nullable String until,
      @Option(
              names = "--for",
              paramLabel = "DURATION",
              description = "how long it holds from now on, such as 1h; instead of --until")
          @Nullable String duration,
      @Option(names = "--reason", description = "why, for other operators") @Nullable String reason,
      @Option(
              names = "--id",
              paramLabel = "ID",
              description = "replace the override of this id; default: a new one")
          @Nullable String id)
      throws IOException {
    if (limits == null && locks == null) {
      throw wrong("limit: missing (expected: --limit, --lock or both)", null);
    }
    ObjectNode body = Remote.MAPPER.createObjectNode().put("rule", rule);
    ObjectNode when = body.putObject("when");
    for (String facet : facets) {
      Identity.parse(facet)
          .facets()
          .forEach((name, value) -> when.put(name, DecisionJson.shown(value)));
    }
    if (limits != null) {
      ArrayNode wanted = body.putArray("limits");
      limits.forEach(each -> wanted.add(limit(each)));
    }
    if (locks != null && locks.size() == 1) {
      body.put("lock", locks.get(0));
    } else if (locks != null) {
      locks.forEach(body.putArray("lock")::add);
    }
    String end = end(until, duration);
    if (end != null) {
      body.put("until", end);
    }
    if (reason != null) {
      body.put("reason", reason);
    }
    String path = "/v1/overrides" + (id == null ? "" : "/" + Remote.encoded(id));
    JsonNode answer = remote.send("PUT", path, body);
    if (remote.wantsJson()) {
      out().println(answer.toPrettyString());
    } else {
      table(List.of(answer)).print(out());
    }
    out().flush();
    return 0;
  }

  /** A limit as text, or as an object if it is written as JSON. */
  private JsonNode limit(String text) {
    if (!text.stripLeading().startsWith("{")) {
      return TextNode.valueOf(text);
    }
    try {
      return STRICT.readTree(text);
    } catch (JsonProcessingException e) {
      throw wrong(
          "limit: %s (expected: JSON such as %s)"
              .formatted(
                  Text.quoted(text),
                  "{\"token-bucket\":{\"capacity\":100,\"refill\":10,\"per\":\"1s\"}}"),
          e);
    }
  }

  /** When the override ends; null if it holds for good. */
  private @Nullable String end(@Nullable String until, @Nullable String duration) {
    if (duration == null) {
      return until;
    }
    if (until != null) {
      throw wrong("until and for: both given (expected: one of them)", null);
    }
    try {
      Duration length = Durations.parse(duration);
      if (!length.isZero()) {
        return Instant.now().plus(length).truncatedTo(ChronoUnit.MILLIS).toString();
      }
    } catch (IllegalArgumentException e) {
      throw wrong("for: " + e.getMessage(), e);
    }
    throw wrong("for: 0s (expected: longer than 0)", null);
  }

  private ParameterException wrong(String message, @Nullable Throwable cause) {
    return new ParameterException(spec.subcommands().get("set"), message, cause);
  }

  @Command(
      name = "remove",
      description = "Removes an override. Exit code 3 if there was none.",
      mixinStandardHelpOptions = true,
      defaultValueProvider = FromEnvironment.class)
  int remove(
      @Mixin Remote remote,
      @Parameters(index = "0", paramLabel = "ID", description = "as it is listed") String id)
      throws IOException {
    JsonNode answer = remote.send("DELETE", "/v1/overrides/" + Remote.encoded(id), null);
    boolean removed = answer.path("removed").asBoolean();
    if (remote.wantsJson()) {
      out().println(answer.toPrettyString());
    } else {
      out().println(removed ? "removed" : "there is no override " + id);
    }
    out().flush();
    return removed ? 0 : 3;
  }

  private static Table table(Iterable<JsonNode> overrides) {
    Table table =
        new Table("ID", "RULE", "WHEN", "LIMITS", "LOCK", "UNTIL", "LAST APPLIED", "BY", "REASON");
    for (JsonNode each : overrides) {
      table.row(
          each.path("id").asText(),
          each.path("rule").asText(),
          texts(each.path("when")),
          orDash(texts(each.has("limits") ? each.path("limits") : each.path("limit"))),
          orDash(texts(each.path("lock"))),
          each.path("until").asText("-"),
          each.path("skipped").isTextual()
              ? "has no effect: " + each.path("skipped").asText()
              : each.path("applied").asText("-"),
          each.path("by").asText(),
          each.path("reason").asText());
    }
    return table;
  }

  private static String orDash(String text) {
    return text.isEmpty() ? "-" : text;
  }

  private static String texts(JsonNode node) {
    if (node.isObject()) {
      return StreamSupport.stream(((Iterable<String>) () -> node.fieldNames()).spliterator(), false)
          .map(name -> name + "=" + node.path(name).asText())
          .collect(Collectors.joining(" "));
    }
    if (node.isArray()) {
      return StreamSupport.stream(node.spliterator(), false)
          .map(each -> each.isTextual() ? each.asText() : each.toString())
          .collect(Collectors.joining(", "));
    }
    return node.asText();
  }

  private PrintWriter out() {
    return spec.commandLine().getOut();
  }
}
