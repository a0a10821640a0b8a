package dev.sluice.rules;

import dev.sluice.internal.InvalidValueException;
import dev.sluice.internal.Text;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A mapping in a rule file: reads values by key, and reports mistakes with key and line. */
final class Section {
  private final Findings findings;
  private final @Nullable String rule;
  private final int line;
  private final Map<String, Node> values = new LinkedHashMap<>();
  private final Map<String, Integer> lines = new LinkedHashMap<>();

  /**
   * Reads a mapping.
   *
   * @param rule the rule it belongs to, or null
   * @param line the line for mistakes about the mapping as a whole
   * @param known the keys it may have; null for any
   */
  Section(
      Findings findings,
      @Nullable String rule,
      int line,
      Node.Mapping mapping,
      @Nullable Collection<String> known) {
    this.findings = findings;
    this.rule = rule;
    this.line = line;
    for (Node.Entry entry : mapping.entries()) {
      String key = entry.key().text();
      int at = entry.key().line();
      Integer first = lines.putIfAbsent(key, at);
      if (first != null) {
        String found = "%s is there twice, first on line %d".formatted(Text.quoted(key), first);
        findings.add(at, rule, found, "expected: once");
      } else if (known != null && !known.contains(key)) {
        String found = "key " + Text.quoted(key) + " is unknown";
        findings.add(at, rule, found, Text.advice(key, known));
      } else {
        values.put(key, entry.value());
      }
    }
  }

  /** Reads a mapping under a key; null, with a finding, if the value is something else. */
  static @Nullable Section of(
      Findings findings,
      @Nullable String rule,
      String key,
      int line,
      Node node,
      @Nullable Collection<String> known) {
    if (node instanceof Node.Mapping mapping) {
      return new Section(findings, rule, line, mapping, known);
    }
    String expected =
        known == null ? "names with their values" : "a mapping with " + String.join(", ", known);
    findings.add(line, rule, key + " is " + node.described(), "expected: " + expected);
    return null;
  }

  /** A mapping within this section, of the same rule. */
  @Nullable Section inner(String key, int at, Node node, @Nullable Collection<String> known) {
    return of(findings, rule, key, at, node, known);
  }

  boolean has(String key) {
    return values.containsKey(key);
  }

  /** The known keys that are present, with their values, in the order of the file. */
  Map<String, Node> values() {
    return values;
  }

  /** The line of a key, or of the section if the key is absent. */
  int line(String key) {
    return lines.getOrDefault(key, line);
  }

  /** Reads the value of a key; null if it is absent or invalid. */
  <T> @Nullable T read(String key, Function<Node, T> reader) {
    Node node = values.get(key);
    return node == null ? null : read(key, node, reader);
  }

  <T> T read(String key, Function<Node, T> reader, T fallback) {
    T value = read(key, reader);
    return value == null ? fallback : value;
  }

  /** Reads the value of a required key; null if it is absent or invalid. */
  <T> @Nullable T need(String key, Function<Node, T> reader, String expected) {
    if (!has(key)) {
      fail(key, key + " is missing", "expected: " + expected);
    }
    return read(key, reader);
  }

  /** Reads one value, possibly of several, under a key; null if it is invalid. */
  <T> @Nullable T read(String key, Node node, Function<Node, T> reader) {
    try {
      return reader.apply(node);
    } catch (InvalidValueException unfit) {
      int at = node instanceof Node.Scalar scalar ? scalar.line() : line(key);
      findings.add(at, rule, key, unfit);
      return null;
    }
  }

  /** Builds something from several values; null, with a finding, if they do not fit together. */
  <T> @Nullable T build(String key, Supplier<T> builder) {
    try {
      return builder.get();
    } catch (InvalidValueException unfit) {
      String name = unfit.name();
      findings.add(line(name == null || !has(name) ? key : name), rule, key, unfit);
      return null;
    }
  }

  /** Reports a mistake about a key, or about the section if the key is absent. */
  void fail(String key, String found, String advice) {
    findings.add(line(key), rule, found, advice);
  }

  void fail(int at, String found, String advice) {
    findings.add(at, rule, found, advice);
  }

  /** Warns that something is valid but probably not intended. */
  void warn(int at, String found, String advice) {
    findings.warn(at, rule, found, advice);
  }
}
