package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;
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
    String page = Files.readString(page());
    String dependency = snippet("xml", page);
    String properties = snippet("properties", page);
    String controller = snippet("java", page);
    assertThat((dependency + properties + controller).lines().filter(QuickstartTest::isTyped))
        .hasSizeLessThanOrEqualTo(12);
    assertThat(dependency).contains("<artifactId>sluice-spring-boot-starter</artifactId>");

    Class<?> application = compile(controller + APPLICATION);

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

  private static Path page() {
    Path near = Path.of("../docs/spring.md");
    return Files.exists(near) ? near : Path.of("../../docs/spring.md");
  }

  private static String snippet(String language, String page) {
    Matcher found = Pattern.compile("```" + language + "\n(.*?)```", Pattern.DOTALL).matcher(page);
    assertThat(found.find()).isTrue();
    return found.group(1);
  }

  private Class<?> compile(String source) throws IOException, ClassNotFoundException {
    Path sources = Files.createDirectories(folder.resolve("shop"));
    Path file = sources.resolve("Application.java");
    Files.writeString(file, "package shop;\n" + source);
    String classes =
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
    int result =
        ToolProvider.getSystemJavaCompiler()
            .run(
                null,
                null,
                null,
                "-proc:none",
                "-cp",
                classes,
                "-d",
                folder.toString(),
                file.toString());
    assertThat(result).isZero();
    URLClassLoader loader =
        new URLClassLoader(new URL[] {folder.toUri().toURL()}, getClass().getClassLoader());
    return Class.forName("shop.Application", true, loader);
  }
}
