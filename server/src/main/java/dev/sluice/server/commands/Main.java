package dev.sluice.server.commands;

import picocli.CommandLine;
import picocli.CommandLine.Command;

/** The command line: {@code serve}, and commands for a running service. */
@Command(
    name = "sluice",
    description = "A rate limiter: runs the service, and manages its rules, accounts and locks.",
    subcommands = {
      ServeCommand.class,
      HealthCommand.class,
      CheckCommand.class,
      LocksCommand.class,
      AccountsCommand.class,
      ReceiptsCommand.class,
      FunctionsCommand.class,
      OperatorsCommand.class,
      OverridesCommand.class,
      RulesCommand.class
    },
    mixinStandardHelpOptions = true)
public final class Main {
  private Main() {}

  public static void main(String[] arguments) {
    System.exit(commandLine(arguments).execute(arguments));
  }

  /** A command line that knows every command. */
  public static CommandLine commandLine() {
    return withErrors(new CommandLine(new Main()));
  }

  /** One that knows only the command named first: reading all of them delays the start. */
  private static CommandLine commandLine(String[] arguments) {
    for (Class<?> each : Main.class.getAnnotation(Command.class).subcommands()) {
      String name = each.getAnnotation(Command.class).name();
      if (arguments.length > 0 && name.equals(arguments[0])) {
        return withErrors(new CommandLine(new OneCommand()).addSubcommand(each));
      }
    }
    return commandLine();
  }

  /** The parent of a single command; its name is in messages and help. */
  @Command(name = "sluice")
  static final class OneCommand {}

  private static CommandLine withErrors(CommandLine line) {
    return line.setExecutionExceptionHandler(
            (failure, failed, parsed) -> {
              failed.getErr().println("sluice: " + failure.getMessage());
              return 1;
            })
        .setParameterExceptionHandler(
            (mistake, arguments) -> {
              CommandLine failed = mistake.getCommandLine();
              failed.getErr().println("sluice: " + mistake.getMessage());
              failed
                  .getErr()
                  .println("try: ./" + failed.getCommandSpec().qualifiedName() + " --help");
              return 2;
            });
  }
}
