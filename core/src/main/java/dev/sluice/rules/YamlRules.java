package dev.sluice.rules;

import dev.sluice.Facet;
import dev.sluice.Rule;
import dev.sluice.Rules;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;

/** Reads a rule file in YAML. */
final class YamlRules {
  private static final List<String> KEYS = List.of("facets", "rules");

  private YamlRules() {}

  /**
   * Reads the rules of a file.
   *
   * @param open whether rules may also count by facets that the file does not define
   */
  static Rules read(String file, String text, boolean open) {
    Optional<Node> root = YamlTree.read(file, text);
    if (root.isEmpty() || (root.get() instanceof Node.Scalar scalar && scalar.isEmpty())) {
      throw RuleErrors.of(file, 1, "the file is empty", "expected: rules");
    }
    Findings findings = new Findings(file);
    Rules rules = read(findings, root.get(), open);
    findings.throwIfAny();
    return rules.warning(findings.warnings());
  }

  private static Rules read(Findings findings, Node root, boolean open) {
    Section top = Section.of(findings, null, "the file", root.line(), root, KEYS);
    if (top == null) {
      return Rules.NONE;
    }
    List<Facet> facets = FacetReader.facets(findings, top);
    // All facet names of the file, even of unreadable facets: otherwise one mistake would be
    // reported twice.
    SortedSet<String> names = open ? new TreeSet<>() : facetNames(top);
    Map<String, Facet> byName = new LinkedHashMap<>();
    facets.forEach(facet -> byName.put(facet.name(), facet));
    List<Rule> rules = new ArrayList<>();
    Node node = top.values().get("rules");
    if (node == null) {
      top.fail("rules", "rules is missing", "expected: rules by their names");
    } else if (node instanceof Node.Mapping mapping) {
      Section section = new Section(findings, null, top.line("rules"), mapping, null);
      section
          .values()
          .forEach(
              (name, value) -> {
                Rule rule =
                    RuleReader.rule(findings, name, section.line(name), value, names, byName);
                if (rule != null) {
                  rules.add(rule);
                }
              });
    } else {
      top.fail("rules", "rules is " + node.described(), "expected: rules by their names");
    }
    findings.throwIfAny();
    return open ? Rules.open(rules, facets) : Rules.of(rules, facets);
  }

  private static SortedSet<String> facetNames(Section top) {
    SortedSet<String> names = new TreeSet<>();
    if (top.values().get("facets") instanceof Node.Mapping mapping) {
      mapping.entries().forEach(entry -> names.add(entry.key().text()));
    }
    return names;
  }
}
