package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.memory.MemoryStore;
import dev.sluice.server.commands.Main;
import dev.sluice.server.http.Settings;
import dev.sluice.store.Store;
import dev.sluice.testing.Needs;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Pages print what their commands do: a text block follows each bash block. */
@Needs({"curl", "bash"})
class GuidesIT {
  private static final int ALL = Integer.MAX_VALUE;

  @TempDir private Path directory;

  /** Runs some of the commands of a page, one after the other, with other ports. */
  private void runs(String page, int first, int end, int service, int redis) throws Exception {
    List<String> commands = Docs.blocks(page, "bash");
    List<String> outputs = Docs.blocks(page, "text");
    assertThat(commands).isNotEmpty().hasSameSizeAs(outputs);
    for (int i = first; i < Math.min(end, commands.size()); i++) {
      String script =
          commands
              .get(i)
              .replace("127.0.0.1:8080", "127.0.0.1:" + service)
              .replace("6390", "" + redis);

      assertThat(steady(run(script)))
          .describedAs(commands.get(i))
          .isEqualTo(steady(outputs.get(i)));
    }
  }

  /** An output without what is another each time: when, how long, and so how wide a column is. */
  private static String steady(String output) {
    return output
        .stripTrailing()
        .replaceAll("\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z", "(time)")
        .replaceAll("\\b(\\d+[dhms])+\\b", "(duration)")
        .replaceAll("  +", " ");
  }

  private String run(String script) throws Exception {
    Path file = Files.writeString(directory.resolve("commands.sh"), script);
    return Program.run(directory, List.of("bash", file.toString()));
  }

  @Test
  void anApiIsLimitedByPlan() throws Exception {
    String rules = Docs.named("guides/api-by-plan.md", "yaml", "rules.yaml");
    try (Sluice sluice = Sluice.start(Settings.defaults(), rules)) {
      runs("guides/api-by-plan.md", 0, ALL, sluice.service().port(), 0);
    }
  }

  @Test
  void descriptorsOfEnvoyBecomeRules() throws Exception {
    String page = "coming-from/envoy-ratelimit.md";
    String rules = Docs.named(page, "yaml", "rules.yaml");
    Store atNoon = MemoryStore.create(() -> Instant.parse("2030-06-01T12:00:00Z"));
    try (Sluice sluice = Sluice.start(Settings.defaults(), rules, atNoon)) {
      runs(page, 0, ALL, sluice.service().port(), 0);
    }
  }

  @Test
  @Needs({"redis-server", "redis-cli"})
  void rulesDecideWhileRedisIsDown() throws Exception {
    Path rules = directory.resolve("rules.yaml");
    Files.writeString(rules, Docs.named("guides/redis-down.md", "yaml", "rules.yaml"));
    int redis = Program.freePort();
    int port = Program.freePort();
    try {
      runs("guides/redis-down.md", 0, 1, port, redis);
      try (Program service = Program.start(directory, serve(rules, port, redis))) {
        service.awaitPort(port);
        runs("guides/redis-down.md", 1, ALL, port, redis);
      }
    } finally {
      run("redis-cli -p %d shutdown nosave".formatted(redis));
    }
  }

  @Test
  void operatorsSeeWhatTheGuidePrints() throws Exception {
    String page = "guides/operating.md";
    Files.writeString(directory.resolve("rules.yaml"), Docs.named(page, "yaml", "rules.yaml"));
    int port = Program.freePort();
    script(port);
    List<String> serve = List.of("./sluice", "serve", "--rules=rules.yaml", "--port=" + port);
    try (Program service = Program.start(directory, serve)) {
      service.awaitPort(port);
      runs(page, 0, ALL, port, 0);
    }
  }

  @Test
  void aServiceOfItsOwnServesTests() throws Exception {
    String page = "guides/testing.md";
    Files.writeString(directory.resolve("rules.yaml"), Docs.named(page, "yaml", "rules.yaml"));
    script(0);

    runs(page, 0, ALL, 0, 0);
  }

  /** Puts a {@code ./sluice} where the commands run, which knows where the service is. */
  private void script(int port) throws Exception {
    String java = String.join(" ", program());
    Path script =
        Files.writeString(
            directory.resolve("sluice"),
            """
            #!/bin/bash
            export SLUICE_URL=http://127.0.0.1:%d SLUICE_ADMIN_TOKEN=%s
            exec %s "$@"
            """
                .formatted(port, Sluice.TOKEN, java));
    assertThat(script.toFile().setExecutable(true)).isTrue();
  }

  /** With a deadline that a busy machine keeps. */
  private static List<String> serve(Path rules, int port, int redis) {
    return Stream.concat(
            program().stream(),
            Stream.of(
                "serve",
                "--rules=" + rules,
                "--port=" + port,
                "--store=redis://127.0.0.1:" + redis,
                "--store-deadline=3s"))
        .toList();
  }

  /** The command line, run from the classes of this build. */
  private static List<String> program() {
    return List.of(
        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-cp",
        System.getProperty("java.class.path"),
        Main.class.getName());
  }
}
