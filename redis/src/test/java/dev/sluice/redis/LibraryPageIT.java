package dev.sluice.redis;

import static dev.sluice.redis.testing.RedisProcess.newest;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.redis.testing.RedisServers;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** The Java on docs/library.md and docs/redis.md runs, and prints what its comments say. */
@ExtendWith(RedisServers.class)
class LibraryPageIT {
  private static final Path DOCS = Path.of("../docs");
  private static final Pattern JAVA = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL);
  private static final Pattern PRINTS =
      Pattern.compile("^ *System\\.out\\.println\\(.*\\); // (.*)$", Pattern.MULTILINE);

  @TempDir Path folder;

  @Test
  void pagePrintsWhatItsCommentsSay() throws Exception {
    List<String> blocks =
        JAVA.matcher(Files.readString(DOCS.resolve("library.md")))
            .results()
            .map(found -> found.group(1))
            .toList();
    String uri = RedisServers.single(newest()).uri();
    String body =
        String.join("", blocks.subList(1, blocks.size())).replace("redis://127.0.0.1:6379", uri);
    List<String> expected = new ArrayList<>();
    PRINTS
        .matcher(body)
        .results()
        .map((MatchResult found) -> found.group(1))
        .forEach(expected::add);
    assertThat(expected).hasSizeGreaterThan(15);

    assertThat(run(blocks.get(0), body)).isEqualTo(expected);
  }

  @Test
  void firstExampleOfThePageAboutRedisRuns() throws Exception {
    Matcher example = JAVA.matcher(Files.readString(DOCS.resolve("redis.md")));
    assertThat(example.find()).isTrue();
    String[] parts = example.group(1).split("\n\n", 2);
    String uri = RedisServers.single(newest()).uri();

    assertThat(run(parts[0] + "\n", parts[1].replace("redis://127.0.0.1:6379", uri)))
        .containsExactly("true");
  }

  private List<String> run(String imports, String body) throws Exception {
    Class<?> program =
        compile(
            imports
                + "public class Page {\n  public static void main(String[] args) throws Exception {\n"
                + body
                + "  }\n}\n");
    PrintStream console = System.out;
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
    try {
      program.getMethod("main", String[].class).invoke(null, (Object) new String[0]);
    } finally {
      System.setOut(console);
    }
    return printed.toString(StandardCharsets.UTF_8).lines().toList();
  }

  private Class<?> compile(String source) throws IOException, ClassNotFoundException {
    Path file = folder.resolve("Page.java");
    Files.writeString(file, source);
    String classes =
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
    int result =
        ToolProvider.getSystemJavaCompiler()
            .run(
                null,
                null,
                null,
                "-proc:none",
                "-Xlint:all",
                "-cp",
                classes,
                "-d",
                folder.toString(),
                file.toString());
    assertThat(result).isZero();
    URLClassLoader loader =
        new URLClassLoader(new URL[] {folder.toUri().toURL()}, getClass().getClassLoader());
    return Class.forName("Page", true, loader);
  }
}
