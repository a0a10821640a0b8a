package dev.sluice.redis.mutants;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * One seeded bug: a text of a source file, and what it is replaced by.
 *
 * @param description what is wrong with it, in plain words
 */
record Mutant(Path file, String description, String before, String after) {
  /*
   * A file of them has blocks between empty lines. "@ name" says in which file of the sources the
   * bugs that follow are. A bug is a line that describes it, then the text before ("- ") and the text
   * after ("+ "); no text after means that the text before is left out. "#" begins a comment.
   */

  /** Reads a file of seeded bugs in the sources of a folder. */
  static List<Mutant> read(Path list, Path sources) throws IOException {
    List<Mutant> found = new ArrayList<>();
    Path file = sources;
    Block block = new Block();
    List<String> lines = new ArrayList<>(Files.readAllLines(list));
    lines.add("");
    for (String line : lines) {
      if (line.startsWith("@ ")) {
        file = sources.resolve(line.substring(2));
      } else if (line.isEmpty()) {
        if (!block.description.isEmpty()) {
          found.add(block.mutant(list, file));
        }
        block = new Block();
      } else if (!line.startsWith("#")) {
        block.add(line);
      }
    }
    return found;
  }

  private static final class Block {
    private String description = "";
    private final List<String> before = new ArrayList<>();
    private final List<String> after = new ArrayList<>();

    void add(String line) {
      if (line.startsWith("- ")) {
        before.add(line.substring(2));
      } else if (line.startsWith("+ ")) {
        after.add(line.substring(2));
      } else {
        description = line;
      }
    }

    Mutant mutant(Path list, Path file) {
      if (before.isEmpty()) {
        throw new IllegalArgumentException(
            "%s: '%s' has no text before (expected: a line that begins with '- ')"
                .formatted(list, description));
      }
      return new Mutant(file, description, String.join("\n", before), String.join("\n", after));
    }
  }

  @Override
  public String toString() {
    return file.getFileName() + ": " + description;
  }

  /** Whether a text is in its file's name or its description. */
  boolean has(String text) {
    return toString().toLowerCase(Locale.ROOT).contains(text.toLowerCase(Locale.ROOT));
  }

  boolean isJava() {
    return file.toString().endsWith(".java");
  }

  /** How often the text before is in the file; a bug can be seeded only if that is once. */
  int places() throws IOException {
    String source = Files.readString(file);
    int found = 0;
    for (int at = source.indexOf(before); at >= 0; at = source.indexOf(before, at + 1)) {
      found++;
    }
    return found;
  }

  /** The file with the bug in it. */
  String source() throws IOException {
    return Files.readString(file).replace(before, after);
  }
}
