package dev.sluice.server.commands;

import dev.sluice.server.admin.AdminToken;
import dev.sluice.server.admin.Operator;
import dev.sluice.server.admin.Operators;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code ./sluice operators token|check}: the file of {@code serve --operators}. */
@Command(
    name = "operators",
    description = "Makes tokens for operators, and checks the file of serve --operators.",
    synopsisSubcommandLabel = "(token | check)",
    mixinStandardHelpOptions = true)
final class OperatorsCommand {
  @Spec private CommandSpec spec = CommandSpec.create();

  @Command(
      name = "token",
      description =
          "Makes a random token and prints it once, with the line for the file. The line has only a hash of it.",
      mixinStandardHelpOptions = true)
  int token(
      @Parameters(index = "0", paramLabel = "NAME", description = "the operator's name")
          String name) {
    AdminToken token = AdminToken.random();
    String line = Operators.line(name, token);
    PrintWriter out = out();
    out.printf("token  %s%n", token.text());
    out.printf("line   %s%n", line);
    out.flush();
    return 0;
  }

  @Command(
      name = "check",
      description = "Checks a file of operators and lists them.",
      mixinStandardHelpOptions = true)
  int check(@Parameters(index = "0", paramLabel = "FILE") Path file) throws IOException {
    if (!Files.isReadable(file)) {
      throw new IllegalArgumentException(file + ": cannot be read (expected: a file of operators)");
    }
    Table table = new Table("OPERATOR", "ROLE");
    for (Operator operator : Operators.read(file, Files.readAllBytes(file))) {
      table.row(operator.name(), operator.role().toString());
    }
    table.print(out());
    out().flush();
    return 0;
  }

  private PrintWriter out() {
    return spec.commandLine().getOut();
  }
}
