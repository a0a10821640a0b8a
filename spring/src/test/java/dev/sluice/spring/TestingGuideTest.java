package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * docs/guides/testing.md prints the classes of the package gifts, whose test runs like any other.
 */
class TestingGuideTest {
  @ParameterizedTest
  @ValueSource(strings = {"Gifts.java", "GiftsTest.java"})
  void guidePrintsWhatRuns(String file) throws IOException {
    // Seen from boot4, which runs these tests once more, everything is one folder further up.
    Path spring = Path.of(Files.exists(Path.of("src/test/java/gifts")) ? "." : "..");
    String source = Files.readString(spring.resolve("src/test/java/gifts").resolve(file));

    assertThat(Files.readString(spring.resolve("../docs/guides/testing.md")))
        .contains("```java\n" + source.replace("package gifts;\n\n", "") + "```");
  }
}
