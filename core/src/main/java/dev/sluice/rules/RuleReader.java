package dev.sluice.rules;

import dev.sluice.Facet;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Lock;
import dev.sluice.OnStoreFailure;
import dev.sluice.Rule;
import dev.sluice.Terms;
import dev.sluice.internal.Bounds;
import dev.sluice.internal.InvalidValueException;
import dev.sluice.internal.Network;
import dev.sluice.internal.Text;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Reads one rule of a YAML file. */
final class RuleReader {
  private static final List<String> KEYS =
      List.of(
          "by",
          "limit",
          "limits",
          "lock",
          "lockMemory",
          "lockOn",
          "countDenied",
          "mode",
          "onStoreFailure",
          "missing",
          "colocate",
          "overrides",
          "exempt");
  private static final List<String> OVERRIDE_KEYS =
      List.of("when", "until", "limit", "limits", "lock", "lockMemory", "lockOn", "countDenied");
  private static final Map<String, Lock.On> LOCK_ON =
      Map.of("denial", Lock.On.DENIAL, "limit", Lock.On.LIMIT);
  private static final Map<String, Boolean> MODES = Map.of("enforce", true, "shadow", false);
  private static final Map<String, Rule.Missing> MISSING =
      Map.of("error", Rule.Missing.ERROR, "skip", Rule.Missing.SKIP);
  private static final Map<String, OnStoreFailure> ON_STORE_FAILURE =
      Map.of(
          "allow", OnStoreFailure.ALLOW,
          "local", OnStoreFailure.LOCAL,
          "deny", OnStoreFailure.DENY);
  private static final String IDENTITIES = "expected: such as [member, ip, member+promo]";

  /** How many leading bits of an IPv6 address identify a client by default. */
  private static final int CLIENT_BITS = 64;

  private static final Terms ANY = Terms.of(Limit.slidingLog(1, Duration.ofSeconds(1)));

  private final Findings findings;
  private final String name;
  private final Section section;
  private final SortedSet<String> facetNames;
  private final Map<String, Facet> facets;

  private RuleReader(
      Findings findings,
      String name,
      Section section,
      SortedSet<String> facetNames,
      Map<String, Facet> facets) {
    this.findings = findings;
    this.name = name;
    this.section = section;
    this.facetNames = facetNames;
    this.facets = facets;
  }

  /**
   * Reads a rule; null if anything is wrong with it. Reports all its mistakes.
   *
   * @param facetNames the facets it may count by, sorted; if empty, any
   * @param facets those of them that could be read
   */
  static @Nullable Rule rule(
      Findings findings,
      String name,
      int line,
      Node node,
      SortedSet<String> facetNames,
      Map<String, Facet> facets) {
    int before = findings.size();
    String built = name;
    try {
      Rule.checkName(name);
    } catch (InvalidValueException unfit) {
      findings.add(line, null, "rule", unfit);
      built = "unnamed"; // reported once: further mistakes do not depend on the name
    }
    String shown = Text.quoted(name);
    String inRule = shown.substring(1, shown.length() - 1);
    Section section = Section.of(findings, inRule, "the rule", line, node, KEYS);
    if (section == null) {
      return null;
    }
    Rule rule = new RuleReader(findings, built, section, facetNames, facets).rule();
    return findings.size() == before ? rule : null;
  }

  /** Reads an override of a rule by itself; null if anything is wrong with it. */
  static Rule.@Nullable Special override(
      Findings findings, Rule rule, Node node, Map<String, Facet> facets) {
    int before = findings.size();
    Section section =
        Section.of(findings, rule.name(), "the override", node.line(), node, OVERRIDE_KEYS);
    if (section == null) {
      return null;
    }
    SortedSet<String> names = new TreeSet<>(facets.keySet());
    rule.by().forEach(identity -> names.addAll(Rule.facetsOf(identity)));
    RuleReader reader =
        new RuleReader(
            findings, rule.name(), section, facets.isEmpty() ? new TreeSet<>() : names, facets);
    Rule.Special special = reader.special(section, rule.terms());
    return findings.size() == before ? special : null;
  }

  /** Reads every value, also after a mistake, so that all mistakes are reported at once. */
  private @Nullable Rule rule() {
    List<String> by = by();
    Terms terms = terms(section, null);
    List<Rule.Special> overrides = overrides(terms == null ? ANY : terms, by);
    List<Map<String, String>> exempt = new ArrayList<>();
    for (Node node : items(section, "exempt", "a list such as [{ip: 192.0.2.1}]")) {
      exempt.add(facetValues("exempt", node));
    }
    boolean enforced = section.read("mode", node -> Values.word(node, MODES), true);
    Rule.Missing missing =
        section.read("missing", node -> Values.word(node, MISSING), Rule.Missing.ERROR);
    OnStoreFailure onStoreFailure =
        section.read(
            "onStoreFailure", node -> Values.word(node, ON_STORE_FAILURE), OnStoreFailure.LOCAL);
    boolean colocate = section.read("colocate", Values::flag, false);
    return terms == null
        ? null
        : section.build(
            "the rule",
            () ->
                rule(by, terms, overrides, exempt)
                    .enforced(enforced)
                    .missing(missing)
                    .onStoreFailure(onStoreFailure)
                    .colocate(colocate)
                    .build());
  }

  private Rule.Builder rule(
      List<String> by,
      Terms terms,
      List<Rule.Special> overrides,
      List<Map<String, String>> exempt) {
    Rule.Builder builder = Rule.builder(name).by(by).terms(terms);
    overrides.forEach(each -> builder.override(each.when(), each.until(), each.terms()));
    exempt.forEach(builder::exempt);
    return builder;
  }

  // ---- Identities -----------------------------------------------------------------------------

  private List<String> by() {
    Node node = section.values().get("by");
    if (node == null) {
      return List.of();
    }
    List<Node> nodes = node instanceof Node.Items items ? items.nodes() : List.of(node);
    if (nodes.isEmpty()) {
      section.fail("by", "by is an empty list", IDENTITIES + ", or no 'by' for every facet");
    }
    List<String> by = new ArrayList<>();
    Set<Set<String>> seen = new LinkedHashSet<>();
    for (Node each : nodes) {
      String identity = section.read("by", each, one -> identity(one, seen));
      if (identity != null) {
        by.add(identity);
      }
    }
    return by;
  }

  private String identity(Node node, Set<Set<String>> seen) {
    String identity = Values.text(node, IDENTITIES);
    Set<String> parts = Rule.facetsOf(identity);
    parts.forEach(this::checkFacet);
    if (!seen.add(parts)) {
      throw Values.unfit(Text.quoted(identity) + " a second time", "expected: once");
    }
    return identity;
  }

  private void checkFacet(String facet) {
    Facet.checkName(facet);
    if (!facetNames.isEmpty() && !facetNames.contains(facet)) {
      String advice = Text.advice(facet, facetNames);
      throw Values.unfit(
          "the unknown facet " + Text.quoted(facet),
          advice.startsWith("expected")
              ? advice + "; or facets: %s: caller if your code supplies it".formatted(facet)
              : advice);
    }
  }

  /** The facet values of a caller; empty, with a finding, if there are none. */
  private Map<String, String> facetValues(String key, Node node) {
    String form = "such as {apiKey: acme}";
    if (!(node instanceof Node.Mapping mapping) || mapping.entries().isEmpty()) {
      String found = node instanceof Node.Mapping ? "an empty mapping" : node.described();
      section.fail(node.line(), key + " is " + found, "expected: " + form);
      return Map.of();
    }
    Section values = section.inner(key, node.line(), mapping, null);
    Map<String, String> found = new LinkedHashMap<>();
    Objects.requireNonNull(values)
        .values()
        .forEach(
            (facet, value) -> {
              values.build(key, () -> checkedFacet(facet));
              String kept = values.read(facet, value, RuleReader::facetValue);
              if (kept != null && isComparable(values, facet, value.line(), kept)) {
                found.put(facet, kept);
              }
            });
    return found;
  }

  /** Reads a value that a facet can have. */
  private static String facetValue(Node node) {
    String text = Values.text(node, "expected: a value to compare with");
    try {
      Identity.of("x", text);
      return text;
    } catch (InvalidValueException unfit) {
      // The value may be a secret, so it is not shown.
      throw Values.unfit(
          "a value that no call can have",
          "expected: Unicode without control characters, at most %,d of them"
              .formatted(Bounds.LONGEST_FACET_VALUE));
    }
  }

  /** Whether a call could have a value; reports an error if none could, warns if few could. */
  private boolean isComparable(Section values, String facet, int line, String value) {
    if (!facetNames.isEmpty() && !facetNames.contains(facet)) {
      return true; // unknown, which was reported before
    }
    Facet known = facets.get(facet);
    boolean secret = known != null && known.secret();
    Network range;
    try {
      range = Network.matching(Facet.isAddress(facet, facets), value);
    } catch (InvalidValueException unfit) {
      values.build(
          facet,
          () -> {
            throw secret ? Values.unfit("no address", "expected: an address or a range") : unfit;
          });
      return false;
    }
    return range == null || isWideEnough(values, facet, line, value, range, secret);
  }

  /**
   * Reports an address range that is narrower than what is counted as one client: it would match
   * nobody.
   */
  private static boolean isWideEnough(
      Section values, String facet, int line, String value, Network range, boolean secret) {
    if (range.first().isV4() || range.bits() <= CLIENT_BITS) {
      return true;
    }
    String found = "%s is %s".formatted(facet, secret ? "finer than /64" : Text.quoted(value));
    String wide = secret ? "/64" : range.first().prefix(CLIENT_BITS) + "/64";
    if (value.indexOf('/') >= 0) {
      values.warn(
          line,
          found + ", which matches nobody where IPv6 clients are counted by /64",
          "expected: " + wide);
      return true;
    }
    values.fail(
        line,
        found,
        "expected: %s, as IPv6 clients are counted; or %s/128 if yours are counted by address"
            .formatted(wide, secret ? "" : range.first()));
    return false;
  }

  private String checkedFacet(String facet) {
    checkFacet(facet);
    return facet;
  }

  // ---- Terms ----------------------------------------------------------------------------------

  /**
   * Reads the terms of a section; null if they are invalid.
   *
   * @param base the terms to inherit from where the section defines none; null if there are none
   */
  private @Nullable Terms terms(Section section, @Nullable Terms base) {
    int before = findings.size();
    List<Limit> own = LimitReader.limits(section);
    boolean inherits = !section.has("limit") && !section.has("limits");
    if (inherits && base == null) {
      String found = section.has("lock") ? "lock is there without a limit" : "limit is missing";
      section.fail("lock", found, "expected: limit or limits");
    }
    Lock lock = lock(section, base == null ? null : base.lock());
    boolean countDenied =
        section.read("countDenied", Values::flag, base != null && base.countDenied());
    if (findings.size() > before) {
      return null;
    }
    List<Limit> limits = inherits && base != null ? base.limits() : own;
    Terms terms = section.build("limits", () -> new Terms(limits, lock, countDenied));
    if (terms != null && (!inherits || section.has("lock"))) {
      TermsDoubts.find(terms)
          .forEach(doubt -> section.warn(section.line("lock"), doubt.found(), doubt.advice()));
    }
    return terms;
  }

  private static @Nullable Lock lock(Section section, @Nullable Lock base) {
    List<Duration> own = section.read("lock", node -> durations(section, node));
    Duration memory =
        section.read("lockMemory", node -> Limit.checkSpan("lockMemory", Values.duration(node)));
    Lock.On on =
        section.read(
            "lockOn",
            node -> Values.word(node, LOCK_ON),
            base == null ? Lock.On.DENIAL : base.on());
    if (own != null && own.isEmpty()) {
      return null;
    }
    if (own != null) {
      return new Lock(own, memory == null ? Lock.growing(own).memory() : memory, on);
    }
    for (String key : List.of("lockMemory", "lockOn")) {
      if (base == null && section.has(key) && !section.has("lock")) {
        section.fail(key, key + " is there without a lock", "expected: lock");
      }
    }
    return base == null
        ? null
        : new Lock(base.durations(), memory == null ? base.memory() : memory, on);
  }

  /** Reads the durations of repeated locks; none for {@code lock: none}. */
  private static List<Duration> durations(Section section, Node node) {
    String form = "expected: a duration such as 30m, or a list such as [1m, 10m, 24h]";
    if (node instanceof Node.Scalar scalar) {
      return scalar.text().equals("none") ? List.of() : List.of(length(scalar));
    }
    if (!(node instanceof Node.Items items) || items.nodes().isEmpty()) {
      throw Values.unfit(node instanceof Node.Items ? "an empty list" : node.described(), form);
    }
    List<Duration> durations = new ArrayList<>();
    for (Node each : items.nodes()) {
      Duration duration = section.read("lock", each, RuleReader::length);
      durations.add(duration == null ? Duration.ofSeconds(1) : duration);
    }
    return durations;
  }

  private static Duration length(Node node) {
    return Limit.checkSpan("lock", Values.duration(node));
  }

  // ---- Overrides ------------------------------------------------------------------------------

  private List<Rule.Special> overrides(Terms base, List<String> by) {
    List<Rule.Special> overrides = new ArrayList<>();
    for (Node node : items(section, "overrides", "a list of mappings with 'when'")) {
      Section override = section.inner("override", node.line(), node, OVERRIDE_KEYS);
      Rule.Special special = override == null ? null : special(override, base);
      if (special != null) {
        TermsDoubts.findShared(base, special, by)
            .forEach(doubt -> section.warn(node.line(), doubt.found(), doubt.advice()));
        overrides.add(special);
      }
    }
    return overrides;
  }

  private Rule.@Nullable Special special(Section override, Terms base) {
    Node wanted = override.values().get("when");
    if (wanted == null) {
      override.fail(
          "when", "override: when is missing", "expected: the facets it is for, {apiKey: acme}");
    }
    Map<String, String> when = wanted == null ? Map.of() : facetValues("when", wanted);
    Instant until = override.read("until", Values::instant);
    if (until != null && !until.isAfter(Instant.now())) {
      override.warn(
          override.line("until"),
          "override: until is " + until + ", which is over; it changes nothing any more",
          "expected: a later time, or no such override");
    }
    boolean changesNothing =
        OVERRIDE_KEYS.stream()
            .noneMatch(key -> !key.equals("when") && !key.equals("until") && override.has(key));
    if (changesNothing) {
      override.fail("when", "override: nothing is different", "expected: limit, limits or lock");
    }
    Terms terms = terms(override, base);
    return when.isEmpty() || terms == null ? null : new Rule.Special(when, until, terms);
  }

  private static List<Node> items(Section section, String key, String form) {
    Node node = section.values().get(key);
    if (node == null) {
      return List.of();
    }
    if (node instanceof Node.Items items) {
      return items.nodes();
    }
    section.fail(key, key + " is " + node.described(), "expected: " + form);
    return List.of();
  }
}
