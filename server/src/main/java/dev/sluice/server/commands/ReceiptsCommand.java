package dev.sluice.server.commands;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.PrintWriter;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code ./sluice receipts rotate}: the key that signs the receipts of a running service. */
@Command(
    name = "receipts",
    description = "Changes the key that signs receipts.",
    synopsisSubcommandLabel = "(rotate)",
    mixinStandardHelpOptions = true)
final class ReceiptsCommand {
  @Spec private CommandSpec spec = CommandSpec.create();

  @Command(
      name = "rotate",
      description =
          "Starts to use a new key, on all services that share a Redis. Receipts of the previous key stay valid"
              + " until the next rotation.",
      mixinStandardHelpOptions = true,
      defaultValueProvider = FromEnvironment.class)
  int rotate(@Mixin Remote remote) throws IOException {
    JsonNode answer = remote.send("POST", "/v1/receipts/rotate", null);
    PrintWriter out = spec.commandLine().getOut();
    out.println(remote.wantsJson() ? answer.toPrettyString() : "rotated");
    out.flush();
    return 0;
  }
}
