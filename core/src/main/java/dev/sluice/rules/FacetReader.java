package dev.sluice.rules;

import dev.sluice.Facet;
import dev.sluice.internal.Text;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Reads the facets: where a request carries each of them. */
final class FacetReader {
  private static final Map<String, Facet.Source> WHOLE =
      Map.of(
          "client-address", Facet.Source.CLIENT_ADDRESS,
          "principal", Facet.Source.PRINCIPAL,
          "session", Facet.Source.SESSION,
          "caller", Facet.Source.CALLER);
  private static final Map<String, Facet.Source> KEYED = new LinkedHashMap<>();
  private static final List<String> SOURCES = List.of("header", "cookie", "query", "claim", "from");
  private static final List<String> KEYS =
      Stream.concat(SOURCES.stream(), Stream.of("secret", "normalize")).toList();
  private static final Map<String, Facet.Normalization> NORMALIZATIONS =
      Map.of(
          "nfkc", Facet.Normalization.NFKC,
          "trim", Facet.Normalization.TRIM,
          "lowercase", Facet.Normalization.LOWERCASE);
  private static final Pattern TOKEN = Pattern.compile("[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}");
  private static final String FORMS =
      "expected: client-address, principal, session, caller, or such as {header: X-Member-Code}";

  static {
    KEYED.put("header", Facet.Source.HEADER);
    KEYED.put("cookie", Facet.Source.COOKIE);
    KEYED.put("query", Facet.Source.QUERY);
    KEYED.put("claim", Facet.Source.CLAIM);
  }

  private FacetReader() {}

  static List<Facet> facets(Findings findings, Section file) {
    Node node = file.values().get("facets");
    if (node == null) {
      return List.of();
    }
    Section section = Section.of(findings, null, "facets", file.line("facets"), node, null);
    List<Facet> facets = new ArrayList<>();
    if (section != null) {
      section
          .values()
          .forEach(
              (name, value) -> {
                // A facet with an invalid name is reported once and not read further.
                boolean named = section.build(name, () -> Facet.checkName(name)) != null;
                Facet facet = named ? facet(section, name, value) : null;
                if (facet != null) {
                  facets.add(facet);
                }
              });
    }
    return facets;
  }

  private static @Nullable Facet facet(Section facets, String name, Node node) {
    String shown = "facet " + Text.quoted(name);
    int line = facets.line(name);
    if (node instanceof Node.Scalar scalar) {
      Facet.Source source = WHOLE.get(scalar.text());
      if (source == null) {
        String advice =
            Text.nearest(scalar.text(), WHOLE.keySet()).map(Text::didYouMean).orElse(FORMS);
        facets.fail(line, shown + " is " + scalar.described(), advice);
        return null;
      }
      return facets.build(name, () -> new Facet(name, source, "", false));
    }
    Section parts = facets.inner(shown, line, node, KEYS);
    if (parts == null) {
      return null;
    }
    List<String> sources = SOURCES.stream().filter(parts::has).toList();
    if (sources.size() != 1) {
      String found = sources.isEmpty() ? "no source" : String.join(" and ", sources);
      parts.fail(
          line, shown + " has " + found, "expected: one of header, cookie, query, claim, from");
      return null;
    }
    boolean secret = parts.read("secret", Values::flag, false);
    Set<Facet.Normalization> normalize = normalize(parts);
    String key = sources.get(0);
    if (key.equals("from")) {
      return parts.read(
          key, from -> new Facet(name, Values.word(from, WHOLE), "", secret, normalize));
    }
    Facet.Source source = KEYED.getOrDefault(key, Facet.Source.HEADER);
    return parts.read(key, named -> new Facet(name, source, nameOf(key, named), secret, normalize));
  }

  private static Set<Facet.Normalization> normalize(Section parts) {
    Node node = parts.values().get("normalize");
    if (node == null) {
      return Set.of();
    }
    List<Node> words = node instanceof Node.Items items ? items.nodes() : List.of(node);
    if (words.isEmpty()) {
      parts.fail(
          "normalize", "normalize is an empty list", "expected: such as [nfkc, trim, lowercase]");
    }
    Set<Facet.Normalization> steps = EnumSet.noneOf(Facet.Normalization.class);
    for (Node word : words) {
      Facet.Normalization step =
          parts.read("normalize", word, each -> Values.word(each, NORMALIZATIONS));
      if (step != null && !steps.add(step)) {
        parts.fail(
            word.line(),
            "normalize has %s twice".formatted(step.name().toLowerCase(Locale.ROOT)),
            "expected: once");
      }
    }
    return steps;
  }

  private static String nameOf(String key, Node node) {
    String text = Values.text(node, "expected: the name of the " + key);
    boolean token = key.equals("header") || key.equals("cookie");
    if (token && !TOKEN.matcher(text).matches()) {
      throw Values.unfit(Text.quoted(text), "expected: the name of a " + key);
    }
    return text;
  }
}
