package dev.sluice.testing;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.io.TempDir;

class NeedsTest {

  @TempDir Path empty;
  @TempDir Path programs;

  @BeforeEach
  void oneProgramAndOnePlainFile() throws IOException {
    assertThat(Files.createFile(programs.resolve("nginx")).toFile().setExecutable(true)).isTrue();
    Files.createFile(programs.resolve("notes"));
  }

  @Test
  void programInAnyDirectoryOfThePathIsFound() {
    assertThat(answer("nginx").isDisabled()).isFalse();
  }

  @Test
  void everyMissingProgramIsNamedAndNoOther() {
    assertThat(answer("caddy", "nginx", "wrk").getReason()).contains("not on the PATH: caddy, wrk");
  }

  @Test
  void fileThatCannotBeRunIsNoProgram() {
    assertThat(answer("notes").isDisabled()).isTrue();
  }

  private ConditionEvaluationResult answer(String... needed) {
    return Needs.OnPath.answer(List.of(needed), empty + File.pathSeparator + programs);
  }
}
