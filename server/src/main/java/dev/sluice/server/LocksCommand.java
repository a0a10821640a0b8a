package dev.sluice.server;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code ./sluice locks list|set|lift}: who is locked out of a running service. */
@Command(
    name = "locks",
    description = "Lists, sets and lifts locks of a running service.",
    synopsisSubcommandLabel = "(list | set | lift)",
    mixinStandardHelpOptions = true)
final class LocksCommand {
  private static final String PLEASE_NAME = "rule of the lock";
  private static final String FACETS = "such as login=ann, or identity=<text that the list shows>";

  @Spec private CommandSpec spec = CommandSpec.create();

  @Command(
      name = "list",
      description = "Who is locked, until when and why.",
      mixinStandardHelpOptions = true,
      defaultValueProvider = FromEnvironment.class)
  int list(
      @Mixin Remote remote,
      @Option(names = "--rule", description = "of one rule only") @Nullable String rule)
      throws IOException {
    String query = rule == null ? "" : "?rule=" + Remote.encoded(rule);
    return print(remote, remote.send("GET", "/v1/locks" + query, null));
  }

  @Command(
      name = "set",
      description = "Locks an identity out of a rule.",
      mixinStandardHelpOptions = true,
      defaultValueProvider = FromEnvironment.class)
  int set(
      @Mixin Remote remote,
      @Parameters(index = "0", paramLabel = "RULE", description = PLEASE_NAME) String rule,
      @Parameters(index = "1..*", arity = "1..*", paramLabel = "FACET=VALUE", description = FACETS)
          List<String> identity,
      @Option(
              names = "--for",
              required = true,
              paramLabel = "DURATION",
              description = "such as 30m")
          String duration,
      @Option(names = "--reason", description = "for whoever lists it") @Nullable String reason)
      throws IOException {
    ObjectNode body = Remote.MAPPER.createObjectNode().put("duration", duration);
    if (reason != null) {
      body.put("reason", reason);
    }
    return print(remote, remote.send("PUT", Remote.path("/v1/locks", rule, identity), body));
  }

  @Command(
      name = "lift",
      description = "Ends the lock of an identity. Ends with 0 if there was one, else with 3.",
      mixinStandardHelpOptions = true,
      defaultValueProvider = FromEnvironment.class)
  int lift(
      @Mixin Remote remote,
      @Parameters(index = "0", paramLabel = "RULE", description = PLEASE_NAME) String rule,
      @Parameters(index = "1..*", arity = "1..*", paramLabel = "FACET=VALUE", description = FACETS)
          List<String> identity)
      throws IOException {
    JsonNode answer = remote.send("DELETE", Remote.path("/v1/locks", rule, identity), null);
    boolean lifted = answer.path("lifted").asBoolean();
    out()
        .println(
            remote.wantsJson() ? answer.toPrettyString() : lifted ? "lifted" : "was not locked");
    out().flush();
    return lifted ? 0 : 3;
  }

  private int print(Remote remote, JsonNode answer) {
    if (remote.wantsJson()) {
      out().println(answer.toPrettyString());
      out().flush();
    } else if (answer.path("locks").isEmpty()) {
      out().println("nobody is locked");
      out().flush();
    } else {
      Table table = new Table("RULE", "IDENTITY", "UNTIL", "REASON");
      for (JsonNode lock : answer.path("locks")) {
        table.row(
            lock.path("rule").asText(),
            Balances.identity(lock),
            lock.path("until").asText(),
            lock.path("reason").asText());
      }
      table.print(out());
    }
    return 0;
  }

  private PrintWriter out() {
    return spec.commandLine().getOut();
  }
}
