package dev.sluice.server.commands;

import picocli.CommandLine;
import picocli.CommandLine.Command;

/** The command line: {@code serve}, and commands for a running service. */
@Command(
    name = "sluice",
    description = "A rate limiter: runs the service, and manages its rules, accounts and locks.",
    subcommands = {
      ServeCommand.class,
      CheckCommand.class,
      LocksCommand.class,
      AccountsCommand.class,
      ReceiptsCommand.class,
      FunctionsCommand.class,
      OperatorsCommand.class,
      RulesCommand.class
    },
    mixinStandardHelpOptions = true)
public final class Main {
  private Main() {}

  public static void main(String[] arguments) {
    System.exit(commandLine().execute(arguments));
  }

  public static CommandLine commandLine() {
    return new CommandLine(new Main())
        .setExecutionExceptionHandler(
            (failure, line, parsed) -> {
              line.getErr().println("sluice: " + failure.getMessage());
              return 1;
            })
        .setParameterExceptionHandler(
            (mistake, arguments) -> {
              CommandLine line = mistake.getCommandLine();
              line.getErr().println("sluice: " + mistake.getMessage());
              line.getErr().println("try: ./" + line.getCommandSpec().qualifiedName() + " --help");
              return 2;
            });
  }
}
