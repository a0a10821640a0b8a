package dev.sluice.server.commands;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.sluice.internal.Text;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code ./sluice check SecureLogin login=ann}: asks a running service for one decision. */
@Command(
    name = "check",
    description = "Asks a running service for one decision. Exit code 0 if allowed, 3 if denied.",
    mixinStandardHelpOptions = true,
    defaultValueProvider = FromEnvironment.class)
final class CheckCommand implements Callable<Integer> {
  private static final int DENIED = 3;

  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private Remote remote = new Remote();

  @Parameters(index = "0", paramLabel = "RULE", description = "one or several, separated by commas")
  private String rules = "";

  @Parameters(index = "1..*", paramLabel = "FACET=VALUE", description = "such as login=ann")
  private List<String> identity = List.of();

  @Option(
      names = "--cost",
      paramLabel = "[RULE=]N",
      description = "cost for every rule, or for one of them, such as tokens=1200; default: 1")
  private List<String> costs = List.of();

  @Option(
      names = "--id",
      description = "idempotency key: a call sent again with the same id counts once")
  private @Nullable String id;

  @Option(names = "--peek", description = "show the decision without counting the call")
  private boolean peek;

  @Override
  public Integer call() throws IOException {
    ObjectNode body = Remote.MAPPER.createObjectNode();
    var names = body.putArray("rules");
    for (String rule : rules.split(",", -1)) {
      names.add(rule);
    }
    ObjectNode facets = body.putObject("identity");
    Remote.callerFacets(identity).forEach(facets::put);
    costs.forEach(cost -> put(cost, body));
    if (id != null) {
      body.put("id", id);
    }
    if (peek) {
      body.put("intent", "peek");
    }
    JsonNode answer = remote.send("POST", "/v1/check", body);
    PrintWriter out = spec.commandLine().getOut();
    if (remote.wantsJson()) {
      out.println(answer.toPrettyString());
    } else {
      out.println(answer.path("outcome").asText() + reason(answer));
      BalanceTable.print(answer, out);
    }
    out.flush();
    return answer.path("allowed").asBoolean() ? 0 : DENIED;
  }

  private static void put(String cost, ObjectNode body) {
    int equals = cost.lastIndexOf('=');
    long number;
    try {
      number = Long.parseLong(cost.substring(equals + 1));
    } catch (NumberFormatException e) {
      throw new Remote.Refused(
          List.of(
              "cost: %s (expected: a whole number, or one by rule such as tokens=1200)"
                  .formatted(Text.quoted(cost))),
          e);
    }
    if (equals < 0) {
      body.put("cost", number);
    } else {
      body.withObjectProperty("costs").put(cost.substring(0, equals), number);
    }
  }

  private static String reason(JsonNode answer) {
    if (answer.hasNonNull("reason")) {
      return ": " + answer.path("reason").asText();
    }
    if (answer.path("allowed").asBoolean()) {
      return "";
    }
    return answer.path("retryAfterMs").isNull()
        ? ": the cost is larger than the limit, so it can never pass"
        : ": %spasses in %s"
            .formatted(
                answer.path("locked").asBoolean() ? "locked out, " : "",
                BalanceTable.span(answer.path("retryAfterMs")));
  }
}
