package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.rules.Until;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What {@code ./sluice serve} prints when it has started. */
class GreetingIT {
  private static final String ADVICE = "commands need";

  @TempDir Path directory;

  @Test
  void namesTheConsoleAndTheToken() throws Exception {
    String greeting = greeting();

    assertThat(greeting)
        .containsPattern(
            """
            (?m)^Sluice listens on (http://127\\.0\\.0\\.1:\\d+)
              store    memory \\(lost when the service stops\\)
              rules    \\d+ from sample-rules\\.yaml, the sample rules of Sluice
              token    \\S+  \\(also in \\S+\\)
              console  \\1/  \\(sign in with the token\\)
              ready    after \\d+ ms

            Try:  curl -i \\1/v1/gate/Everyone
                  ./sluice locks list --url \\1
            """)
        .doesNotContain(ADVICE);
  }

  @Test
  void withoutAConsoleNamesNone() throws Exception {
    assertThat(greeting("--console=off")).doesNotContain("console", "sign in");
  }

  @Test
  void saysThatCommandsNeedATokenThatItDidNotPrint() throws Exception {
    String greeting = greeting("--admin-token=" + Sluice.TOKEN);

    assertThat(greeting)
        .doesNotContain(Sluice.TOKEN, "  token    ")
        .containsPattern(
            "  console  http://127\\.0\\.0\\.1:\\d+/  \\(sign in with the admin token\\)")
        .endsWith(
            "      (commands need the admin token: set SLUICE_ADMIN_TOKEN, or give --token)\n");
  }

  private String greeting(String... options) throws Exception {
    List<String> serve =
        Stream.concat(
                Stream.of(
                    Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                    "-Duser.home=" + directory,
                    "-cp",
                    System.getProperty("java.class.path"),
                    "dev.sluice.server.commands.Main",
                    "serve",
                    "--port=0"),
                Stream.of(options))
            .toList();
    try (Program program = Program.start(directory, serve)) {
      Until.within(Duration.ofSeconds(60), "greeting", () -> isWhole(printed(program)));
      return printed(program);
    }
  }

  /** It is printed at once, but may be read while it is written. */
  private static boolean isWhole(String printed) {
    return printed.contains("./sluice locks list") && printed.endsWith("\n");
  }

  private static String printed(Program program) {
    try {
      return program.printed();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
