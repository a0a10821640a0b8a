package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testing.Needs;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** What javac is for Java: linters for the Lua that Redis runs and for the scripts. */
class LintTest {
  @Test
  @Needs({"bash", "luacheck", "shellcheck"})
  void lintersFindNothing() throws Exception {
    Process lint =
        new ProcessBuilder("bash", "./sluice", "lint")
            .directory(Path.of("..").toFile())
            .redirectErrorStream(true)
            .start();
    String said = new String(lint.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

    assertThat(lint.waitFor()).as(said).isZero();
  }
}
