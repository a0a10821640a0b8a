package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limiter;
import dev.sluice.RuleSource;
import dev.sluice.rules.RuleFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

@ExtendWith(OutputCaptureExtension.class)
class RulesReloadTest {
  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class Application {
    @Bean
    RuleSource backend() {
      return RuleSource.fixed(
          RuleFiles.parse("backend.yaml", "rules: {FromBean: {by: ip, limit: 1 per 1s}}"));
    }

    @Bean
    Game game() {
      return new Game();
    }
  }

  static class Game {
    @RateLimit(value = "Play", by = "member=#member")
    String play(String member) {
      return "played";
    }
  }

  @TempDir Path folder;

  @Test
  void savedFileIsInForceButNotWithoutARuleInUse(CapturedOutput output) throws IOException {
    Path file = folder.resolve("rules.yaml");
    save(file, "rules: {Play: {by: member, limit: 1 per 1h}, Other: {by: ip, limit: 1 per 1h}}");
    try (App app =
        App.start(
            WebApplicationType.NONE,
            Application.class,
            "sluice.rules-file=" + file,
            "sluice.rules.Inline.limit=7 per 1m",
            "sluice.rules.Inline.by=ip",
            "logging.level.dev.sluice.RuleSource=INFO")) {
      Limiter limiter = app.bean(Limiter.class);
      assertThat(limiter.rules().toString()).isEqualTo("[Play, Other, Inline, FromBean]");

      save(file, "rules: {Play: {by: member, limit: 9 per 1h}}");
      await(() -> limiter.rules().find("Play").toString().contains("9 per 1h"));
      assertThat(limiter.rules().find("Other")).isNull();

      // Nobody asks the limiter meanwhile: what is refused is logged when it is refused.
      String inForce = file + ": 1 rule in force";
      await(() -> output.getOut().contains(inForce));
      save(file, "rules: {Another: {by: member, limit: 9 per 1h}}");
      await(
          () -> output.getOut().contains(file + ": refused, the rules from before stay in force"));
      assertThat(output.getOut()).contains("the new rules lack [Play], which the application uses");
      assertThat(output.getOut()).containsOnlyOnce(inForce);
      assertThat(limiter.source().failure().get().message()).contains("lack [Play]");
      assertThat(limiter.rules().find("Play")).isNotNull();
    }
  }

  private void save(Path file, String text) throws IOException {
    Path fresh = Files.writeString(folder.resolve("fresh"), text);
    Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
  }

  /** A file system reports changes when it likes: no clock of ours can be moved. */
  private static void await(BooleanSupplier done) {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
    while (!done.getAsBoolean()) {
      assertThat(System.nanoTime()).isLessThan(end);
      Thread.onSpinWait();
    }
  }
}
