package dev.sluice.rules;

import dev.sluice.Rule;
import dev.sluice.Rules;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Objects;

/**
 * Parses rule files: YAML as in {@code docs/rules.md}, and the XML of older settings files.
 *
 * <p>A file is accepted as a whole or not at all; {@link RuleErrors} lists every mistake.
 */
public final class RuleFiles {
  /** The largest file that is read. */
  public static final int LARGEST_BYTES = 1 << 20;

  private RuleFiles() {}

  /**
   * Parses the bytes of a rule file.
   *
   * @param name the name of the file in messages. Its ending {@code .xml}, {@code .yaml}, {@code
   *     .yml} or {@code .json} selects the format; otherwise text that begins with {@code <} is XML
   * @throws RuleErrors if the file is invalid
   */
  public static Rules parse(String name, byte[] bytes) {
    checkSize(name, bytes.length);
    return parsed(name, SourceText.decoded(name, bytes));
  }

  /** Parses the text of a rule file, named as in {@link #parse(String, byte[])}. */
  public static Rules parse(String name, String text) {
    checkSize(name, text.length());
    return parsed(name, SourceText.checked(name, text));
  }

  /** Parses rules that may also count by undefined facets, which the calling code supplies. */
  public static Rules parseOpen(String name, String text) {
    checkSize(name, text.length());
    return YamlRules.read(name, SourceText.checked(name, text), true);
  }

  /**
   * Parses one override of a rule, as it stands in a rule file or as JSON.
   *
   * @param name where the text comes from, for messages
   * @param rule whose terms hold where the override says nothing
   * @param rules the rules with their facets
   */
  public static Rule.Special parseOverride(String name, String text, Rule rule, Rules rules) {
    checkSize(name, text.length());
    Node node =
        YamlTree.read(name, SourceText.checked(name, text))
            .orElseThrow(
                () -> RuleErrors.of(name, 1, "the override is empty", "expected: when and limit"));
    Findings findings = new Findings(name);
    Rule.Special special = RuleReader.override(findings, rule, node, rules.facets());
    findings.throwIfAny();
    return Objects.requireNonNull(special);
  }

  /** Reads and parses a rule file; messages name its path. */
  public static Rules read(Path file) {
    return parse(file.toString(), bytes(file));
  }

  /** Reads the bytes of a file, but no more than a rule file may have. */
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
