package dev.sluice.server.commands;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code ./sluice health}: whether a running service is ready; the health check of containers. */
@Command(
    name = "health",
    description =
        "Asks whether a running service is ready. Exit code 0 if it is, 1 if it stops or does not answer.",
    mixinStandardHelpOptions = true,
    defaultValueProvider = FromEnvironment.class)
final class HealthCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private Remote remote = new Remote();

  @Override
  public Integer call() throws IOException {
    JsonNode answer = remote.send("GET", "/health/ready", null);
    PrintWriter out = spec.commandLine().getOut();
    if (remote.wantsJson()) {
      out.println(answer.toPrettyString());
    } else {
      String reason = answer.path("reason").asText();
      out.println(answer.path("status").asText() + (reason.isEmpty() ? "" : ": " + reason));
      answer.path("warnings").forEach(warning -> out.println("warning: " + warning.asText()));
    }
    out.flush();
    return 0;
  }
}
