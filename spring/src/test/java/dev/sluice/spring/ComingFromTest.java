package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Rules;
import dev.sluice.rules.RuleFiles;
import dev.sluice.testing.JavaSources;
import dev.sluice.testing.Page;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.WebApplicationType;

/** What docs/coming-from tells people to write works. */
class ComingFromTest {
  private static final String FILE = "Sluice in a rule file";
  private static final String JAVA = "Sluice in Java";

  private static final String APPLICATION =
      """
      import dev.sluice.spring.RateLimit;
      import org.springframework.boot.autoconfigure.SpringBootApplication;
      import org.springframework.web.bind.annotation.GetMapping;
      import org.springframework.web.bind.annotation.RestController;
      @SpringBootApplication @RestController public class Application {
        %s @GetMapping("%s") public String hello() { return "hello"; }
      }
      """;

  @TempDir Path folder;

  @ParameterizedTest
  @CsvSource({"bucket4j, Bucket4j", "resilience4j, Resilience4j"})
  void javaOfAPageRunsAndPrintsWhatItsCommentsSay(String name, String peer) throws Exception {
    Page page = page(name);
    List<String> blocks = page.blocks("java");
    StringBuilder program = new StringBuilder(String.join("", blocks.subList(1, blocks.size())));
    List<String> calls =
        page.table(peer, "Sluice").stream().flatMap(row -> Page.code(row.get(1)).stream()).toList();
    for (int i = 0; i < calls.size(); i++) {
      program.append("Object call%d = %s;\n".formatted(i, calls.get(i)));
    }
    assertThat(calls).hasSizeGreaterThan(4);
    assertThat(Page.prints(program.toString())).isNotEmpty();

    assertThat(JavaSources.run(folder, blocks.get(0), program.toString()))
        .isEqualTo(Page.prints(program.toString()));
  }

  @ParameterizedTest
  @CsvSource({"bucket4j, Bucket4j", "resilience4j, Resilience4j"})
  void limitsInJavaAndInAFileAreTheSame(String name, String peer) throws Exception {
    List<List<String>> rows = page(name).table(peer, JAVA, FILE, "answers");
    StringBuilder program = new StringBuilder();
    for (List<String> row : rows) {
      program.append("System.out.println(%s);\n".formatted(Page.code(row.get(1)).get(0)));
    }

    assertThat(JavaSources.run(folder, page(name).blocks("java").get(0), program.toString()))
        .isEqualTo(rows.stream().map(row -> limit(row.get(2)).toString()).toList());
  }

  @ParameterizedTest
  @CsvSource({
    "spring-cloud-gateway, Spring Cloud Gateway, 2",
    "envoy-ratelimit, envoyproxy/ratelimit, 7",
  })
  void everyLimitInAFileCanBeRead(String name, String peer, int limits) {
    assertThat(
            page(name).table(peer, FILE).stream()
                .map(row -> row.get(1))
                .filter(cell -> cell.startsWith("`"))
                .map(ComingFromTest::limit))
        .hasSize(limits)
        .doesNotHaveDuplicates();
  }

  /** The limit in a cell of a table. */
  private static Limit limit(String cell) {
    String file = "rules: {Row: {by: [key], limits: [{%s}]}}".formatted(Page.code(cell).get(0));
    return RuleFiles.parse("cell.yaml", file).find("Row").terms().limits().get(0);
  }

  @ParameterizedTest
  @ValueSource(strings = {"rules.yaml", "special.yaml"})
  void rulesForDescriptorsHaveNoMistakesAndNoWarnings(String name) {
    Rules rules = RuleFiles.parse(name, page("envoy-ratelimit").named("yaml", name));

    assertThat(rules.all()).hasSize(2);
    assertThat(rules.warnings()).isEmpty();
  }

  @Test
  void propertiesForUsersOfResilience4jLimitAMethod() throws Exception {
    String[] properties = page("resilience4j").blocks("properties").get(0).strip().split("\n", -1);
    String annotation =
        page("resilience4j").table("Resilience4j in Spring", "Sluice in Spring").stream()
            .flatMap(row -> Page.code(row.get(1)).stream())
            .filter(code -> code.startsWith("@"))
            .findFirst()
            .orElseThrow();

    try (App app = start(WebApplicationType.SERVLET, annotation, "/hello", properties)) {
      assertThat(
              List.of(
                  app.get("/hello").statusCode(),
                  app.get("/hello").statusCode(),
                  app.get("/hello").statusCode()))
          .containsExactly(200, 200, 429);
    }
  }

  /** In memory, so that it needs no Redis. */
  @Test
  void settingsForUsersOfAGatewayLimitARoute() throws Exception {
    String settings = page("spring-cloud-gateway").blocks("yaml").get(0);
    Files.writeString(
        folder.resolve("application.yaml"), settings.replace("redis://127.0.0.1:6379", "memory"));
    String location = "spring.config.additional-location=file:" + folder + "/";
    try (App app = start(WebApplicationType.REACTIVE, "", "/orders/1", location)) {
      var passed = app.get("/orders/1", "X-User", "ann");
      Identity ann = Identity.of("user", "ann");
      app.bean(Limiter.class).lock("Orders", ann, Duration.ofHours(1), "a test");
      var refused = app.get("/orders/1", "X-User", "ann");

      assertThat(passed.statusCode()).isEqualTo(200);
      assertThat(App.header(passed, "X-RateLimit-Limit")).isEqualTo("20");
      assertThat(refused.statusCode()).isEqualTo(429);
      assertThat(App.header(refused, "Retry-After")).isNotEmpty();
      assertThat(app.get("/orders/1", "X-User", "bob").statusCode()).isEqualTo(200);
      assertThat(app.get("/orders/1").statusCode()).isEqualTo(400);
    }
  }

  private App start(WebApplicationType type, String annotation, String path, String... properties)
      throws Exception {
    Class<?> application =
        JavaSources.in(folder)
            .add("shop.Application", APPLICATION.formatted(annotation, path))
            .compile()
            .loadClass("shop.Application");
    Thread.currentThread().setContextClassLoader(application.getClassLoader());
    try {
      return App.start(type, application, properties);
    } finally {
      Thread.currentThread().setContextClassLoader(getClass().getClassLoader());
    }
  }

  private static Page page(String name) {
    return Page.of("docs/coming-from/%s.md".formatted(name));
  }
}
