package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.memory.MemoryStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The lines of Java in the README: they are those between the two marks below, and they run. */
class ReadmeTest {
  private static final Path README = Path.of("../README.md");
  private static final Path THIS = Path.of("src/test/java/dev/sluice/ReadmeTest.java");
  private static final String BEGIN = "// README begins";
  private static final String END = "// README ends";
  private static final String IMPORTS =
      """
      import dev.sluice.*;
      import dev.sluice.memory.MemoryStore;
      import java.time.Duration;
      """;

  @Test
  void linesOfTheReadmeDoWhatTheySay() {
    // README begins
    Rule signIn =
        Rule.builder("signIn")
            .by("login")
            .limit(Limit.slidingLog(3, Duration.ofMinutes(30)))
            .build();
    Limiter limiter = Limiter.of(MemoryStore.create(), Rules.of(signIn));
    Identity ann = Identity.of("login", "ann");

    Decision first = limiter.decide("signIn", ann); // first.allowed() is true
    limiter.decide("signIn", ann);
    limiter.decide("signIn", ann);
    Decision fourth = limiter.decide("signIn", ann); // fourth.allowed() is false
    Duration wait = fourth.retryAfter().orElseThrow(); // just under 30 minutes
    // README ends

    Decision fifth = limiter.decide("signIn", ann);
    assertThat(fifth).isInstanceOf(Decision.Denied.class);
    assertThat(first).isInstanceOf(Decision.Allowed.class);
    assertThat(first.balances().get(0).remaining()).isEqualTo(2);
    assertThat(fourth).isInstanceOf(Decision.Denied.class);
    assertThat(wait).isBetween(Duration.ofMinutes(29), Duration.ofMinutes(30));
    limiter.close();
  }

  @Test
  void readmeShowsExactlyTheseLines() throws IOException {
    List<String> lines = Files.readAllLines(THIS).stream().map(String::strip).toList();
    List<String> shown =
        Files.readAllLines(THIS).subList(lines.indexOf(BEGIN) + 1, lines.indexOf(END)).stream()
            .map(line -> line.isBlank() ? "" : line.substring(4))
            .toList();

    assertThat(shown).hasSizeGreaterThan(5);
    assertThat(Files.readString(README))
        .contains("```java\n" + IMPORTS + "\n" + String.join("\n", shown) + "\n```\n");
  }

  @Test
  void readmeStaysShort() throws IOException {
    assertThat(Files.readAllLines(README)).hasSizeLessThanOrEqualTo(150);
  }
}
