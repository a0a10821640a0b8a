package dev.sluice.rules;

import dev.sluice.Rules;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Locale;

/**
 * Turns rule files into rules: YAML in the form of {@code docs/rules.md}, and the seeds' XML.
 *
 * <p>A file is taken whole or not at all; {@link RuleErrors} names every mistake in it.
 */
public final class RuleFiles {
  /** The largest file that is read. */
  public static final int LARGEST_BYTES = 1 << 20;

  private RuleFiles() {}

  /**
   * The rules in the bytes of a file.
   *
   * @param name what messages call it; {@code .xml}, {@code .yaml}, {@code .yml} or {@code .json}
   *     at its end tells the format, otherwise a text that begins with {@code <} is XML
   */
  public static Rules parse(String name, byte[] bytes) {
    checkSize(name, bytes.length);
    return parsed(name, SourceText.decoded(name, bytes));
  }

  /** The rules in a text, named as in {@link #parse(String, byte[])}. */
  public static Rules parse(String name, String text) {
    checkSize(name, text.length());
    return parsed(name, SourceText.checked(name, text));
  }

  /** The same for code that supplies facets of its own: rules may count by those too. */
  public static Rules parseOpen(String name, String text) {
    checkSize(name, text.length());
    return YamlRules.read(name, SourceText.checked(name, text), true);
  }

  /** The rules in a file, called by its path in messages. */
  public static Rules read(Path file) {
    return parse(file.toString(), bytes(file));
  }

  /** The bytes of a file, of which never more are read than a rule file may have. */
  public static byte[] bytes(Path file) {
    String name = file.toString();
    try (InputStream in = Files.newInputStream(file)) {
      byte[] bytes = in.readNBytes(LARGEST_BYTES + 1);
      checkSize(name, bytes.length > LARGEST_BYTES ? Files.size(file) : bytes.length);
      return bytes;
    } catch (NoSuchFileException e) {
      throw RuleErrors.of(name, 0, "there is no such file", "expected: a rule file");
    } catch (IOException e) {
      throw RuleErrors.of(name, 0, "cannot be read: " + e.getMessage(), "expected: a rule file");
    }
  }

  private static Rules parsed(String name, String text) {
    return isXml(name, text) ? XmlRules.read(name, text) : YamlRules.read(name, text, false);
  }

  private static boolean isXml(String name, String text) {
    String lower = name.toLowerCase(Locale.ROOT);
    if (lower.endsWith(".yaml") || lower.endsWith(".yml") || lower.endsWith(".json")) {
      return false;
    }
    return lower.endsWith(".xml") || text.stripLeading().startsWith("<");
  }

  private static void checkSize(String name, long bytes) {
    if (bytes > LARGEST_BYTES) {
      throw RuleErrors.of(
          name,
          0,
          "the file has %,d bytes".formatted(bytes),
          "expected: at most %,d".formatted(LARGEST_BYTES));
    }
  }
}
