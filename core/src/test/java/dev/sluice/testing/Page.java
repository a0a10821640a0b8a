package dev.sluice.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/** A page of the documentation, so that tests run what people copy. */
public final class Page {
  private static final Pattern BLOCK =
      Pattern.compile("^```(\\w+)\\n(.*?)^```$", Pattern.MULTILINE | Pattern.DOTALL);
  private static final Pattern PRINTS =
      Pattern.compile("^ *System\\.out\\.println\\(.*\\); // (.*)$", Pattern.MULTILINE);
  private static final Pattern CODE = Pattern.compile("`([^`]+)`");

  private final String path;
  private final String text;

  private Page(String path, String text) {
    this.path = path;
    this.text = text;
  }

  /** The page at a path of the project, such as {@code docs/library.md}. */
  public static Page of(String path) {
    try {
      return new Page(path, Files.readString(root().resolve(path)));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The folder of the project; tests run in the folder of their module. */
  public static Path root() {
    Path folder = Path.of("").toAbsolutePath();
    while (!Files.exists(folder.resolve("docs/library.md"))) {
      folder = folder.getParent();
      if (folder == null) {
        throw new AssertionError(Path.of("").toAbsolutePath() + " is not in the project");
      }
    }
    return folder;
  }

  public String text() {
    return text;
  }

  /** The blocks of code in a language. */
  public List<String> blocks(String language) {
    return BLOCK
        .matcher(text)
        .results()
        .filter(block -> block.group(1).equals(language))
        .map(block -> block.group(2))
        .toList();
  }

  /** The one block whose first line is a comment with this name. */
  public String named(String language, String name) {
    return blocks(language).stream()
        .filter(block -> block.startsWith("# " + name + "\n"))
        .findFirst()
        .orElseThrow(() -> new AssertionError("%s has no %s".formatted(path, name)));
  }

  /** What Java code says in comments that its lines print. */
  public static List<String> prints(String java) {
    return PRINTS.matcher(java).results().map((MatchResult line) -> line.group(1)).toList();
  }

  /** The rows of the table with this head; each is the list of its cells. */
  public List<List<String>> table(String... head) {
    List<String> lines = text.lines().toList();
    int first = lines.indexOf("| " + String.join(" | ", head) + " |");
    if (first < 0) {
      throw new AssertionError("%s has no table %s".formatted(path, List.of(head)));
    }
    return lines.subList(first + 2, lines.size()).stream()
        .takeWhile(line -> line.startsWith("|"))
        .map(line -> Arrays.stream(line.split("\\|", -1)).map(String::strip).toList())
        .map(cells -> cells.subList(1, cells.size() - 1))
        .toList();
  }

  /** The pieces of code in a cell. */
  public static List<String> code(String cell) {
    return CODE.matcher(cell).results().map(found -> found.group(1)).toList();
  }
}
