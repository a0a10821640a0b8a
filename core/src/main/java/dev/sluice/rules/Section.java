package dev.sluice.rules;

import dev.sluice.internal.InvalidValueException;
import dev.sluice.internal.Text;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A mapping in a rule file: reads its values by key, and puts key and line to what is wrong. */
final class Section {
  private final Findings findings;
  private final @Nullable String rule;
  private final int line;
  private final Map<String, Node> values = new LinkedHashMap<>();
  private final Map<String, Integer> lines = new LinkedHashMap<>();

  /**
   * Takes a mapping apart.
   *
   * @param rule the rule it belongs to, or null
   * @param line where it is complained about as a whole
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

  /** A mapping under a key; null, and complained about, if there is something else. */
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

  /** The keys that are there and known, with their values, in the order of the file. */
  Map<String, Node> values() {
    return values;
  }

  /** The line of a key, or of the section if the key is not there. */
  int line(String key) {
    return lines.getOrDefault(key, line);
  }

  /** The value of a key; null if it is not there or does not fit. */
  <T> @Nullable T read(String key, Function<Node, T> reader) {
    Node node = values.get(key);
    return node == null ? null : read(key, node, reader);
  }

  <T> T read(String key, Function<Node, T> reader, T fallback) {
    T value = read(key, reader);
    return value == null ? fallback : value;
  }

  /** The value of a key that has to be there; null if it is not or does not fit. */
  <T> @Nullable T need(String key, Function<Node, T> reader, String expected) {
    if (!has(key)) {
      fail(key, key + " is missing", "expected: " + expected);
    }
    return read(key, reader);
  }

  /** One value, perhaps of several, under a key; null if it does not fit. */
  <T> @Nullable T read(String key, Node node, Function<Node, T> reader) {
    try {
      return reader.apply(node);
    } catch (InvalidValueException unfit) {
      int at = node instanceof Node.Scalar scalar ? scalar.line() : line(key);
      findings.add(at, rule, key, unfit);
      return null;
    }
  }

  /** What is built of several values; null, and complained about, if they do not fit together. */
  <T> @Nullable T build(String key, Supplier<T> builder) {
    try {
      return builder.get();
    } catch (InvalidValueException unfit) {
      String name = unfit.name();
      findings.add(line(name == null || !has(name) ? key : name), rule, key, unfit);
      return null;
    }
  }

  /** Complains about a key, or about the section if the key is not there. */
  void fail(String key, String found, String advice) {
    findings.add(line(key), rule, found, advice);
  }

  void fail(int at, String found, String advice) {
    findings.add(at, rule, found, advice);
  }

  /** Says that something is allowed and probably not meant. */
  void warn(int at, String found, String advice) {
    findings.warn(at, rule, found, advice);
  }
}
