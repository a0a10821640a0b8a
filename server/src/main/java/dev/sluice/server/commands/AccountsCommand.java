package dev.sluice.server.commands;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code ./sluice accounts show|reset}: what an identity has used of a rule. */
@Command(
    name = "accounts",
    description = "Shows and resets what an identity has used of a rule.",
    synopsisSubcommandLabel = "(show | reset)",
    mixinStandardHelpOptions = true)
final class AccountsCommand {
  @Spec private CommandSpec spec = CommandSpec.create();

  @Command(
      name = "show",
      description = "Shows what is left of each limit.",
      mixinStandardHelpOptions = true,
      defaultValueProvider = FromEnvironment.class)
  int show(@Mixin Remote remote, @Mixin RuleAndIdentity which) throws IOException {
    JsonNode answer = remote.send("GET", which.path("/v1/accounts"), null);
    PrintWriter out = spec.commandLine().getOut();
    if (remote.wantsJson()) {
      out.println(answer.toPrettyString());
      out.flush();
    } else {
      BalanceTable.print(answer, out);
      for (JsonNode lock : answer.path("locks")) {
        out.printf(
            "%s is locked until %s: %s%n",
            BalanceTable.identity(lock), lock.path("until").asText(), lock.path("reason").asText());
      }
      out.flush();
    }
    return 0;
  }

  @Command(
      name = "reset",
      description = "Forgets the usage and any lock. Exit code 3 if there was nothing to forget.",
      mixinStandardHelpOptions = true,
      defaultValueProvider = FromEnvironment.class)
  int reset(@Mixin Remote remote, @Mixin RuleAndIdentity which) throws IOException {
    JsonNode answer = remote.send("DELETE", which.path("/v1/accounts"), null);
    boolean reset = answer.path("reset").asBoolean();
    PrintWriter out = spec.commandLine().getOut();
    if (remote.wantsJson()) {
      out.println(answer.toPrettyString());
    } else {
      List<String> accounts = new ArrayList<>();
      answer.path("accounts").forEach(account -> accounts.add(account.asText()));
      out.printf(
          "%s %s%n", String.join(", ", accounts), reset ? "is reset" : "had no usage and no lock");
    }
    out.flush();
    return reset ? 0 : 3;
  }
}
