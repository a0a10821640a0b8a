package dev.sluice.server.commands;

import dev.sluice.Rules;
import dev.sluice.rules.RuleErrors;
import dev.sluice.rules.RuleFiles;
import dev.sluice.rules.RuleWords;
import dev.sluice.server.api.CheckRequest;
import dev.sluice.server.health.HealthRoutes;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code ./sluice rules check|explain|sample}: reads rule files; needs no service. */
@Command(
    name = "rules",
    description = "Checks and explains rule files.",
    synopsisSubcommandLabel = "(check | explain | sample)",
    mixinStandardHelpOptions = true)
final class RulesCommand {
  @Spec private CommandSpec spec = CommandSpec.create();

  @Command(
      name = "check",
      description =
          "Reports every error in each file. If there is none, lists its rules and warnings."
              + " Exit code 1 if any file has an error.",
      mixinStandardHelpOptions = true)
  int check(
      @Parameters(paramLabel = "FILE", arity = "1..*") List<Path> files,
      @Option(names = "--strict", description = "exit code 1 for warnings, too") boolean strict) {
    int status = 0;
    String separator = "";
    for (Path file : files) {
      Rules rules = read(file);
      if (rules == null || (strict && !rules.warnings().isEmpty())) {
        status = 1;
      }
      if (rules != null) {
        out().print(separator);
        if (files.size() > 1) {
          out().println(file + ":");
        }
        RuleWords.table(rules, InstantSource.system()).forEach(out()::println);
        out().flush();
        separator = System.lineSeparator();
      }
    }
    return status;
  }

  @Command(
      name = "explain",
      description = "Explains in sentences what a rule allows and denies.",
      mixinStandardHelpOptions = true)
  int explain(
      @Parameters(paramLabel = "FILE") Path file,
      @Parameters(paramLabel = "RULE", arity = "0..1", description = "default: all rules")
          @Nullable String rule) {
    Rules rules = read(file);
    if (rules == null) {
      return 1;
    }
    if (rule != null && rules.find(rule) == null) {
      err().println("sluice: " + CheckRequest.unknown(rule, rules));
      return 1;
    }
    String separator = "";
    for (var each : rules.all()) {
      if (rule == null || rule.equals(each.name())) {
        out().print(separator);
        RuleWords.explain(rules, each.name(), InstantSource.system()).forEach(out()::println);
        separator = System.lineSeparator();
      }
    }
    out().flush();
    return 0;
  }

  @Command(
      name = "sample",
      description = "Prints sample rules to start from: ./sluice rules sample > rules.yaml",
      mixinStandardHelpOptions = true)
  int sample() {
    out().print(new String(HealthRoutes.resource("sample-rules.yaml"), StandardCharsets.UTF_8));
    out().flush();
    return 0;
  }

  private @Nullable Rules read(Path file) {
    try {
      Rules rules = RuleFiles.read(file);
      rules.warnings().forEach(err()::println);
      err().flush();
      return rules;
    } catch (RuleErrors e) {
      e.problems().forEach(err()::println);
      err().flush();
      return null;
    }
  }

  private PrintWriter out() {
    return spec.commandLine().getOut();
  }

  private PrintWriter err() {
    return spec.commandLine().getErr();
  }
}
