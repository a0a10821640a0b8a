package dev.sluice.server.commands;

import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Parameters;

/** The arguments of commands about the accounts of one identity. */
final class RuleAndIdentity {
  @Parameters(index = "0", paramLabel = "RULE", description = "the rule that counts")
  private String rule = "";

  @Parameters(
      index = "1..*",
      arity = "0..*",
      paramLabel = "FACET=VALUE",
      description =
          "such as login=ann, or as printed by `locks list`; none for a rule that counts everyone together")
  private @Nullable List<String> identity;

  /** The path of a route for them. */
  String path(String route) {
    return Remote.path(route, rule, identity);
  }
}
