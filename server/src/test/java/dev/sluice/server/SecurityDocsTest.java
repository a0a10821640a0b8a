package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The security page claims nothing that no test shows. */
class SecurityDocsTest {
  private static final Pattern TEST =
      Pattern.compile("`(core|redis|server|spring)/(\\w+)(?:\\.(\\w+))?`");

  @Test
  void everyTestThatThePageNamesIsThere() throws IOException {
    Matcher named = TEST.matcher(page());
    List<String> missing = new ArrayList<>();
    int found = 0;
    while (named.find()) {
      found++;
      String source = source(named.group(1), named.group(2));
      String method = named.group(3);
      boolean there =
          method == null
              ? source.contains("Test")
              : Pattern.compile("\\bvoid " + method + "\\(").matcher(source).find();
      if (!there) {
        missing.add(named.group());
      }
    }

    assertThat(missing).isEmpty();
    assertThat(found).isGreaterThan(40);
  }

  @Test
  void everyAttackNamesATest() throws IOException {
    List<String> rows =
        page()
            .lines()
            .filter(line -> line.startsWith("| "))
            .filter(line -> !line.startsWith("| attack") && !line.startsWith("| | "))
            .toList();

    assertThat(rows).hasSizeGreaterThan(25).allMatch(row -> TEST.matcher(row).find());
  }

  private static String page() throws IOException {
    return Files.readString(Path.of("..", "docs", "security.md"));
  }

  private static String source(String module, String type) throws IOException {
    try (Stream<Path> files = Files.walk(Path.of("..", module, "src", "test", "java"))) {
      List<Path> found = files.filter(file -> file.endsWith(type + ".java")).toList();
      return found.isEmpty() ? "" : Files.readString(found.get(0));
    }
  }
}
