package dev.sluice.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.RuleSource;
import dev.sluice.rules.RuleFiles;
import dev.sluice.spring.App;
import dev.sluice.spring.RateLimit;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** A start that Sluice stops says what is wrong and what to do, without a stack trace. */
@ExtendWith(OutputCaptureExtension.class)
class StartFailureTest {
  private static final String LIMIT = "sluice.rules.Hello.limit=2 per 1m";

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class Plain {}

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class Misspelt {
    static class Hello {
      @RateLimit(value = "Helo", by = "player=#player")
      String hello(String player) {
        return player;
      }
    }

    @Bean
    Hello hello() {
      return new Hello();
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class BadBean {
    @Bean
    RuleSource backend() {
      return RuleSource.fixed(RuleFiles.parse("backend.yaml", "rules: {X: {by: ip}}"));
    }
  }

  @TempDir Path folder;

  private static void checkFails(
      CapturedOutput output, Class<?> main, String description, String action, String... settings) {
    int before = output.getOut().length();

    assertThatThrownBy(() -> App.start(WebApplicationType.NONE, main, settings)).isNotNull();

    String told = output.getOut().substring(before);
    assertThat(told).contains("APPLICATION FAILED TO START", "Description:", "Action:");
    assertThat(told.substring(told.indexOf("Description:"))).contains(description);
    assertThat(told.substring(told.indexOf("Action:"))).contains(action);
    assertThat(told).doesNotContain("\tat ");
  }

  @Test
  void mistakeInARuleFileIsReportedWithItsLine(CapturedOutput output) throws IOException {
    Path file = folder.resolve("rules.yaml");
    Files.writeString(file, "rules:\n  Hello: {by: ip, limt: 1 per 1s}\n  Other: {limit: x}\n");

    checkFails(
        output,
        Plain.class,
        "Sluice cannot start:\n  %s:2  rule 'Hello': key 'limt' is unknown".formatted(file),
        "Correct the file, or name another in sluice.rules-file.",
        "sluice.rules-file=" + file);
    assertThat(output.getOut()).contains(file + ":3  rule 'Other': ");
  }

  @Test
  void missingRuleFileIsReportedByItsName(CapturedOutput output) {
    checkFails(
        output,
        Plain.class,
        folder.resolve("none.yaml") + "  there is no such file",
        "Correct the file",
        "sluice.rules-file=" + folder.resolve("none.yaml"));
    checkFails(
        output,
        Plain.class,
        "sluice.rules-file: 'classpath:none.yaml' cannot be read: class path resource",
        "Correct the property.",
        "sluice.rules-file=classpath:none.yaml");
  }

  @Test
  void mistakesInPropertiesAreReportedByTheNamesOfTheProperties(CapturedOutput output) {
    checkFails(
        output,
        Plain.class,
        "sluice.rules.Hello.limt: unknown (did you mean 'limit'?)\n    from \"sluice.rules.Hello.l",
        "Correct these properties.",
        "sluice.rules.Hello.limt=2 per 1m",
        "sluice.rules.Hello.by=ip",
        "sluice.rules.List.limits[0]=1 per 1s",
        "sluice.rules.List.limits[1]=1 per 5 fortnights",
        "sluice.rules.Lock.limit=1 per 1s",
        "sluice.rules.Lock.lock=soon",
        "sluice.rules.Bucket.limits[0].token-bucket.capacity=-1",
        "sluice.rules.Bucket.limits[0].token-bucket.refill=1",
        "sluice.rules.Bucket.limits[0].token-bucket.per=1s",
        "sluice.rules[a.b].limit=1 per 1s",
        "sluice.facets.key.haeder=X-Key");
    assertThat(output.getOut().substring(output.getOut().indexOf("Description:")))
        .contains("  sluice.rules.Hello: limit is missing (expected: limit or limits)")
        .contains("  sluice.rules.List.limits[1]: per is '5 fortnights' (expected: ")
        .contains("  sluice.rules.Lock.lock: 'soon' (expected: ")
        .contains("  sluice.rules.Bucket.limits[0].token-bucket.capacity: ")
        .contains("  sluice.facets.key")
        .doesNotContain("sluice.rules.json");
  }

  @Test
  void whatStartCheckFindsIsADescription(CapturedOutput output) {
    checkFails(
        output,
        Misspelt.class,
        "Sluice cannot start:\n  Hello.hello: no rule 'Helo' (did you mean 'Hello'?)",
        "Correct the annotations, routes, rules or properties that are named above.",
        LIMIT);
  }

  @Test
  void badSettingsAreReportedByTheNamesOfTheirProperties(CapturedOutput output) {
    String action = "Correct the property.";
    checkFails(output, Plain.class, "  sluice.headers: 'all' (", action, "sluice.headers=all");
    checkFails(
        output, Plain.class, "  sluice.ipv6-prefix: 200 (", action, "sluice.ipv6-prefix=200");
    checkFails(
        output,
        Plain.class,
        "  sluice.forwarded-header: 'via' (expected: x-forwarded-for or forwarded)",
        action,
        "sluice.forwarded-header=via");
    checkFails(
        output,
        Plain.class,
        "  sluice.trusted-proxies: '10.0.0.0/99' (",
        action,
        "sluice.trusted-proxies=10.0.0.0/99");
    checkFails(output, Plain.class, "  sluice.store: 'mysql' (", action, "sluice.store=mysql");
    checkFails(
        output,
        Plain.class,
        "  sluice.store: not a URI that leads to Redis (",
        action,
        "sluice.store=redis-sentinel://");
    checkFails(
        output,
        Plain.class,
        "  sluice.nodes: 0 (expected: at least 1)",
        action,
        "sluice.store=redis://127.0.0.1:1",
        "sluice.nodes=0");
    checkFails(
        output,
        Plain.class,
        "  sluice.deadline: PT0S (expected: at least 1 ms)",
        action,
        "sluice.store=redis://127.0.0.1:1",
        "sluice.deadline=0s");
  }

  @Test
  void mistakesInRulesOfABeanAreADescription(CapturedOutput output) {
    checkFails(
        output,
        BadBean.class,
        "Sluice cannot start:\n  backend.yaml:1  rule 'X': limit is missing",
        "Correct the rules.",
        LIMIT);
  }

  @Test
  void storeThatIsRequiredAndDoesNotAnswerStopsTheStart(CapturedOutput output) {
    checkFails(
        output,
        Plain.class,
        "Sluice cannot start:\n  sluice.require-store is true, and Redis does not answer: ",
        "Start Redis, or correct sluice.store.",
        "sluice.store=redis://127.0.0.1:1",
        "sluice.require-store=true",
        LIMIT);
  }

  @Test
  void storeThatIsRequiredAndAnswersLetsItStart() {
    App.start(WebApplicationType.NONE, Plain.class, "sluice.require-store=true", LIMIT).close();
  }
}
