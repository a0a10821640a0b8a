package dev.sluice.server;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The code in the documentation, so that tests run what people copy. */
final class Docs {
  private static final Pattern BLOCK =
      Pattern.compile("^```(\\w+)\\n(.*?)^```$", Pattern.MULTILINE | Pattern.DOTALL);

  private Docs() {}

  /** The blocks of a language in a page. */
  static List<String> blocks(String page, String language) throws IOException {
    Matcher block = BLOCK.matcher(Files.readString(Path.of("..", "docs", page)));
    List<String> found = new ArrayList<>();
    while (block.find()) {
      if (block.group(1).equals(language)) {
        found.add(block.group(2));
      }
    }
    return found;
  }

  /** The one block whose first line is a comment with this name. */
  static String named(String page, String language, String name) throws IOException {
    return blocks(page, language).stream()
        .filter(block -> block.startsWith("# " + name + "\n"))
        .findFirst()
        .orElseThrow(() -> new AssertionError(page + " has no " + name));
  }
}
