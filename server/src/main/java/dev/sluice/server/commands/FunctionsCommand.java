package dev.sluice.server.commands;

import dev.sluice.internal.Durations;
import dev.sluice.redis.RedisLibraries;
import dev.sluice.redis.RedisLibraries.Found;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code ./sluice functions list|prune}: the function libraries of Sluice in a Redis. */
@Command(
    name = "functions",
    description = "Lists and removes the function libraries that Sluice has loaded into Redis.",
    synopsisSubcommandLabel = "(list | prune)",
    mixinStandardHelpOptions = true)
final class FunctionsCommand {
  @Spec private CommandSpec spec = CommandSpec.create();

  /** The option {@code --redis}, shared by the commands. */
  static final class Target {
    @Option(
        names = "--redis",
        required = true,
        paramLabel = "URI",
        description =
            "such as redis://127.0.0.1:6379; Sentinel and Cluster URIs as for serve --store")
    private String uri = "";

    RedisLibraries open() {
      // No log: the command prints errors itself.
      System.setProperty("logback.configurationFile", "dev/sluice/server/log-none.xml");
      return RedisLibraries.at(uri);
    }
  }

  @Command(
      name = "list",
      description = "Lists the libraries, and when each was last used.",
      mixinStandardHelpOptions = true,
      defaultValueProvider = FromEnvironment.class)
  int list(@Mixin Target target) {
    try (RedisLibraries libraries = target.open()) {
      List<Found> found = libraries.list();
      if (found.isEmpty()) {
        say("no Sluice libraries in this Redis");
        return 0;
      }
      int masters = libraries.masters();
      Table table = new Table("LIBRARY", "LAST USED", "MASTERS");
      for (Found each : found) {
        table.row(each.name(), lastUsed(each), "%d of %d".formatted(each.masters(), masters));
      }
      table.print(out());
      return 0;
    }
  }

  @Command(
      name = "prune",
      description =
          "Removes the libraries that no running Sluice uses. A node that needs one loads it again.",
      mixinStandardHelpOptions = true,
      defaultValueProvider = FromEnvironment.class)
  int prune(
      @Mixin Target target,
      @Option(
              names = "--unused-for",
              defaultValue = "3h",
              paramLabel = "DURATION",
              converter = ServeCommand.DurationOption.class,
              description =
                  "remove libraries unused for this long (default: ${DEFAULT-VALUE}, at least 2h)")
          Duration age) {
    if (age.compareTo(RedisLibraries.SHORTEST_AGE) < 0) {
      throw new ParameterException(
          spec.commandLine(),
          "unused-for: %s (expected: at least 2h, since nodes report once an hour)"
              .formatted(Durations.format(age)));
    }
    try (RedisLibraries libraries = target.open()) {
      RedisLibraries.Pruned pruned = libraries.prune(age);
      pruned
          .removed()
          .forEach(each -> say("removed " + each.name() + ", last used " + lastUsed(each)));
      pruned.kept().forEach(each -> say("kept " + each.name() + ", last used " + lastUsed(each)));
      if (pruned.removed().isEmpty()) {
        say("nothing to remove");
      }
      return 0;
    }
  }

  private static String lastUsed(Found library) {
    return library
        .unused()
        .map(unused -> Durations.format(unused) + " ago")
        .orElse("more than a week ago");
  }

  private void say(String line) {
    out().println(line);
    out().flush();
  }

  private PrintWriter out() {
    return spec.commandLine().getOut();
  }
}
