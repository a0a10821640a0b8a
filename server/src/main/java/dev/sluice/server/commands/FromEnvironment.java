package dev.sluice.server.commands;

import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.IDefaultValueProvider;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.OptionSpec;

/** Default values from environment variables: SLUICE_PORT for {@code --port}. */
final class FromEnvironment implements IDefaultValueProvider {
  private final Map<String, String> environment;

  FromEnvironment() {
    this(System.getenv());
  }

  FromEnvironment(Map<String, String> environment) {
    this.environment = environment;
  }

  @Override
  public @Nullable String defaultValue(ArgSpec arg) {
    return arg instanceof OptionSpec option ? environment.get(variable(option)) : null;
  }

  static String variable(OptionSpec option) {
    String name = option.longestName().replaceFirst("^--", "");
    return "SLUICE_" + name.toUpperCase(Locale.ROOT).replace('-', '_');
  }
}
