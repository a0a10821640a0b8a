package dev.sluice.redis.wire;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The Lua files are one scope, so a name may stand for one thing only. */
class LibraryTest {
  private static final Pattern LOCALS =
      Pattern.compile("^local (?:function (\\w+)|(\\w+(?:, \\w+)*))", Pattern.MULTILINE);

  private static List<String> locals() {
    List<String> names = new ArrayList<>();
    Matcher found = LOCALS.matcher(Library.SCRIPT);
    while (found.find()) {
      names.addAll(
          found.group(1) != null ? List.of(found.group(1)) : List.of(found.group(2).split(", ")));
    }
    return names;
  }

  @Test
  void noFileHidesANameOfAnother() {
    assertThat(locals()).contains("token_bucket", "run").doesNotHaveDuplicates();
  }
}
