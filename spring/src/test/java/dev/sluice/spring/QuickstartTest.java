package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testing.JavaSources;
import dev.sluice.testing.Page;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.WebApplicationType;

/** The first snippets of docs/spring.md do what the page says. */
class QuickstartTest {
  private static final String APPLICATION =
      """
      @org.springframework.boot.autoconfigure.SpringBootApplication
      public class Application {}
      """;

  @TempDir Path folder;

  @Test
  void twelveLinesLeadToThe429() throws IOException, ClassNotFoundException {
    Page page = Page.of("docs/spring.md");
    String dependency = page.blocks("xml").get(0);
    String properties = page.blocks("properties").get(0);
    String controller = page.blocks("java").get(0);
    assertThat((dependency + properties + controller).lines().filter(QuickstartTest::isTyped))
        .hasSizeLessThanOrEqualTo(12);
    assertThat(dependency).contains("<artifactId>sluice-spring-boot-starter</artifactId>");

    Class<?> application =
        JavaSources.in(folder)
            .add("shop.Application", controller + APPLICATION)
            .compile()
            .loadClass("shop.Application");

    Thread.currentThread().setContextClassLoader(application.getClassLoader());
    try (App app =
        App.start(WebApplicationType.SERVLET, application, properties.strip().split("\n", -1))) {
      assertThat(
              List.of(
                  app.get("/hello").statusCode(),
                  app.get("/hello").statusCode(),
                  app.get("/hello").statusCode()))
          .containsExactly(200, 200, 429);
    } finally {
      Thread.currentThread().setContextClassLoader(getClass().getClassLoader());
    }
  }

  /** Imports are written by the editor. */
  private static boolean isTyped(String line) {
    return !line.isBlank() && !line.startsWith("import ");
  }
}
