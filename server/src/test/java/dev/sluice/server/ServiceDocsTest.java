package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.commands.Main;
import dev.sluice.server.http.Settings;
import dev.sluice.testing.Needs;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import picocli.CommandLine.Model.OptionSpec;

/** docs/service.md says what is so. */
class ServiceDocsTest {
  @TempDir private Path directory;

  @Test
  @Needs({"curl", "bash"})
  void everyExampleWorks() throws Exception {
    List<String> examples = Docs.blocks("service.md", "bash");
    assertThat(examples).hasSize(4);
    try (Sluice sluice = Sluice.start(Settings.defaults(), Sluice.shippedSample())) {
      for (String example : examples) {
        String script =
            "set -euo pipefail\nTOKEN=%s\ncurl() { command curl --fail -sS \"$@\"; echo; }\n%s"
                .formatted(Sluice.TOKEN, example)
                .replace("http://127.0.0.1:8080", sluice.url());
        Path file = Files.writeString(directory.resolve("example.sh"), script);

        try (Program bash = Program.start(directory, List.of("bash", file.toString()))) {
          assertThat(bash.await(60)).describedAs(bash.printed()).isZero();
          assertThat(bash.printed())
              .containsAnyOf(
                  "\"allowed\":true", "\"settled\":true", "HTTP/1.1 200", "\"lifted\":true");
        }
      }
    }
  }

  @Test
  void everyOptionIsThereWithItsDefault() throws Exception {
    String page = Files.readString(Path.of("..", "docs", "service.md"));
    CommandLine serve = Main.commandLine().getSubcommands().get("serve");
    List<String> missing = new ArrayList<>();
    for (OptionSpec option : serve.getCommandSpec().options()) {
      String name = option.longestName();
      if (name.equals("--help") || name.equals("--version")) {
        continue;
      }
      String line =
          page.lines()
              .filter(each -> each.matches("\\|.*\\| `" + name + "[ `].*"))
              .findFirst()
              .orElse("");
      Object fallback = option.defaultValue();
      fallback = fallback == null ? option.initialValue() : fallback;
      if (line.isEmpty() || (fallback != null && !line.contains("`" + fallback + "`"))) {
        missing.add(name + " with the default " + fallback);
      }
    }

    assertThat(missing).isEmpty();
  }
}
