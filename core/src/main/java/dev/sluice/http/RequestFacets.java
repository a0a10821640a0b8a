package dev.sluice.http;

import dev.sluice.Facet;
import dev.sluice.Identity;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.internal.Bounds;
import dev.sluice.internal.InvalidValueException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Extracts the facets that rules use from requests. Immutable; made once for a set of rules. */
public final class RequestFacets {
  private final Rules rules;
  private final ClientAddress client;
  private final Map<String, List<Need>> needs;

  /** A facet that a rule uses. It is optional if only an override or exemption uses it. */
  private record Need(String name, @Nullable Facet facet, boolean required) {
    /** Whether the facet is required and missing. */
    boolean lacking(Map<String, String> found) {
      return (required || facet == null) && !found.containsKey(name);
    }

    String missing(boolean isEmpty) {
      if (facet == null) {
        return "facet '%s': the rule file does not say where to find it in a request (expected: facets: %s: …)"
            .formatted(name, name);
      }
      if (facet.source() == Facet.Source.CALLER) {
        return "facet '%s': the code that asks supplies it, not the request (expected: a source such as {header: …} instead of caller)"
            .formatted(name);
      }
      return isEmpty
          ? "facet '%s': the %s is empty".formatted(name, place(facet))
          : "facet '%s': the request has no %s".formatted(name, place(facet));
    }
  }

  private RequestFacets(Rules rules, ClientAddress client, Map<String, List<Need>> needs) {
    this.rules = rules;
    this.client = client;
    this.needs = needs;
  }

  /** The facets that these rules use. */
  public static RequestFacets of(Rules rules, ClientAddress client) {
    Map<String, List<Need>> needs = new LinkedHashMap<>();
    for (Rule rule : rules.all()) {
      needs.put(rule.name(), needs(rule, rules.facets()));
    }
    return new RequestFacets(rules, client, needs);
  }

  /** The rules that use these facets. */
  public Rules rules() {
    return rules;
  }

  /**
   * The identity of the caller, reduced to the facets that the named rules use.
   *
   * @throws UnreadableRequest if a facet that a rule counts by is missing, ambiguous or malformed
   */
  public Identity identity(Collection<String> ruleNames, RequestParts request) {
    Map<String, String> found = new TreeMap<>();
    Map<String, String> problems = new LinkedHashMap<>(0);
    boolean lacks = false;
    for (String rule : ruleNames) {
      for (Need need : needs.getOrDefault(rule, List.of())) {
        if (!found.containsKey(need.name)) {
          if (need.facet != null) {
            read(need.facet, client, request, found, problems);
          }
          lacks |= need.lacking(found);
        }
      }
    }
    if (found.size() > Bounds.MOST_FACETS) {
      throw new UnreadableRequest(
          List.of(
              "facets: the rules count the request by %d (expected: at most %d)"
                  .formatted(found.size(), Bounds.MOST_FACETS)));
    }
    Identity identity = Identity.of(found);
    if (lacks) {
      addMissing(ruleNames, identity, request, found, problems);
    }
    if (!problems.isEmpty()) {
      throw new UnreadableRequest(List.copyOf(problems.values()));
    }
    return identity;
  }

  /**
   * The values of these facets, as far as a request has them, by their names.
   *
   * @throws UnreadableRequest if the request has a facet twice or malformed
   */
  public static Map<String, String> read(
      Collection<Facet> facets, ClientAddress client, RequestParts request) {
    Map<String, String> found = new TreeMap<>();
    Map<String, String> problems = new LinkedHashMap<>(0);
    for (Facet facet : facets) {
      read(facet, client, request, found, problems);
    }
    if (!problems.isEmpty()) {
      throw new UnreadableRequest(List.copyOf(problems.values()));
    }
    return found;
  }

  /** Reports facets that the request lacks, unless the rule exempts the caller anyway. */
  private void addMissing(
      Collection<String> ruleNames,
      Identity identity,
      RequestParts request,
      Map<String, String> found,
      Map<String, String> problems) {
    for (String rule : ruleNames) {
      for (Need need : needs.getOrDefault(rule, List.of())) {
        if (need.lacking(found) && !rules.isExempt(rule, identity)) {
          boolean isEmpty = need.facet != null && !values(need.facet, client, request).isEmpty();
          problems.putIfAbsent(need.name, need.missing(isEmpty));
        }
      }
    }
  }

  /**
   * The value of a facet as it would be extracted from a request: an address becomes canonical
   * text. Throws if a facet of addresses gets something else.
   */
  public String canonical(String name, String value) {
    // A value that begins with a control character is a hash, or invalid.
    if (value.isEmpty() || value.charAt(0) < ' ' || !rules.isClientAddress(name)) {
      return value;
    }
    try {
      return client.counted(value);
    } catch (InvalidValueException unfit) {
      throw unfit.named("facet '" + name + "'");
    }
  }

  private static void read(
      Facet facet,
      ClientAddress client,
      RequestParts request,
      Map<String, String> found,
      Map<String, String> problems) {
    List<String> values = values(facet, client, request);
    String problem = null;
    if (values.size() > 1) {
      problem =
          "facet '%s': the request has %s %d times (expected: once)"
              .formatted(facet.name(), place(facet), values.size());
    } else if (!values.isEmpty()) {
      problem = check(facet, values.get(0), found);
    }
    if (problem != null) {
      problems.put(facet.name(), problem);
    }
  }

  /**
   * Adds a value to those found, unless its normalized form is empty; returns the problem if any.
   */
  private static @Nullable String check(Facet facet, String value, Map<String, String> found) {
    String text = facet.source() == Facet.Source.HEADER ? utf8(value) : value;
    if (text == null || text.indexOf('\ufffd') >= 0) {
      return "facet '%s': %s is not well-formed UTF-8".formatted(facet.name(), place(facet));
    }
    try {
      Identity.of(facet.name(), text);
    } catch (IllegalArgumentException e) {
      return facet.secret()
          ? "facet '%s': %s holds a control character, malformed text or more than %,d characters"
              .formatted(facet.name(), place(facet), Bounds.LONGEST_FACET_VALUE)
          : String.valueOf(e.getMessage());
    }
    if (!facet.canonical(text).isEmpty()) {
      found.put(facet.name(), text);
    }
    return null;
  }

  private static List<String> values(Facet facet, ClientAddress client, RequestParts request) {
    return switch (facet.source()) {
      case CLIENT_ADDRESS -> List.of(client.of(request));
      case HEADER -> request.headers(facet.key());
      case COOKIE -> request.cookies(facet.key());
      case QUERY -> request.queries(facet.key());
      case CLAIM -> list(request.claim(facet.key()));
      case PRINCIPAL -> list(request.principal());
      case SESSION -> list(request.session());
      case CALLER -> List.of();
    };
  }

  private static List<String> list(@Nullable String value) {
    return value == null ? List.of() : List.of(value);
  }

  private static String place(Facet facet) {
    return switch (facet.source()) {
      case CLIENT_ADDRESS -> "client address";
      case HEADER -> "header " + facet.key();
      case COOKIE -> "cookie " + facet.key();
      case QUERY -> "query parameter " + facet.key();
      case CLAIM -> "claim " + facet.key();
      case PRINCIPAL -> "authenticated user";
      case SESSION -> "session";
      case CALLER -> "caller";
    };
  }

  /** Decodes text whose UTF-8 bytes the server returned as chars; null if it is not UTF-8. */
  private static @Nullable String utf8(String bytes) {
    boolean ascii = true;
    for (int i = 0; i < bytes.length(); i++) {
      char c = bytes.charAt(i);
      ascii &= c < 0x80;
      if (c > 0xff) {
        return bytes; // the server has decoded it already
      }
    }
    if (ascii) {
      return bytes;
    }
    try {
      return StandardCharsets.UTF_8
          .newDecoder()
          .decode(ByteBuffer.wrap(bytes.getBytes(StandardCharsets.ISO_8859_1)))
          .toString();
    } catch (CharacterCodingException e) {
      return null;
    }
  }

  private static List<Need> needs(Rule rule, Map<String, Facet> facets) {
    Map<String, Need> needs = new LinkedHashMap<>();
    boolean strict = rule.missing() == Rule.Missing.ERROR;
    for (String identity : rule.by()) {
      for (String name : Rule.facetsOf(identity)) {
        needs.put(name, new Need(name, facet(name, facets), strict));
      }
    }
    if (rule.by().isEmpty()) {
      facets.forEach((name, facet) -> needs.put(name, new Need(name, facet, false)));
    }
    List<Map<String, String>> matched = new ArrayList<>(rule.exempt());
    rule.overrides().forEach(override -> matched.add(override.when()));
    for (Map<String, String> match : matched) {
      for (String name : match.keySet()) {
        Facet facet = facet(name, facets);
        if (facet != null) {
          needs.putIfAbsent(name, new Need(name, facet, false));
        }
      }
    }
    return List.copyOf(needs.values());
  }

  /** Where a facet is found; {@code ip} is the client address unless the file defines it. */
  private static @Nullable Facet facet(String name, Map<String, Facet> facets) {
    Facet found = facets.get(name);
    return found == null && Facet.isAddress(name, facets)
        ? new Facet(name, Facet.Source.CLIENT_ADDRESS, "", false)
        : found;
  }
}
