package dev.sluice.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;

class TextTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "redis://host:6379 | redis://host:6379",
        "redis://:secret@host | redis://***@host",
        "redis://user:p@ss/w@host | redis://***@host",
        "rediss://user:s%40cret@host:6380/2 | rediss://***@host:6380/2",
        "redis-sentinel://:s/e@h1:26379,h2:26379/1#name | redis-sentinel://***@h1:26379,h2:26379/1#name",
        "redis-cluster://user:a//b@h1:7000,h2:7001 | redis-cluster://***@h1:7000,h2:7001",
        "redis-cluster://:one@h1:7000,:two@h2:7001 | redis-cluster://***@h2:7001",
        "redis:user:secret@host | redis:***@host",
        "secret@host | ***@host",
        "memory | memory",
      })
  void uriIsShownWithoutItsPassword(String uri, String shown) {
    assertThat(Text.withoutPassword(uri)).isEqualTo(shown);
  }

  @Test
  void passwordWithALineBreakIsLeftOutToo() {
    assertThat(Text.withoutPassword("redis://user:one\ntwo@host")).isEqualTo("redis://***@host");
  }

  @Test
  void jsonStringIsAsciiAndSafeInAWebPage() {
    assertThat(Text.json("a\"b\\c\n<é>&"))
        .isEqualTo("\"a\\\"b\\\\c\\u000a\\u003c\\u00e9\\u003e\\u0026\"");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "login", "a\"b\\c", "line\nbreak\ttab", "<é>&\u007f\u2028", "🙂"})
  void jsonStringIsReadBackAsYaml(String value) {
    Object read =
        new Load(LoadSettings.builder().build())
            .loadFromString("{\"a\": " + Text.json(value) + "}");

    assertThat(read).isEqualTo(Map.of("a", value));
  }
}
