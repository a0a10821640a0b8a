package dev.sluice.server.api;

import dev.sluice.Call;
import dev.sluice.Identity;
import dev.sluice.Intent;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.UnknownRuleException;
import dev.sluice.http.RequestFacets;
import dev.sluice.internal.Bounds;
import dev.sluice.internal.Text;
import dev.sluice.server.http.BadInput;
import dev.sluice.server.http.JsonInput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The body of {@code POST /v1/check}, on its way to become a call. Used by one thread. */
public final class CheckRequest {
  private static final List<String> MEMBERS =
      List.of("rule", "rules", "identity", "cost", "costs", "id", "intent", "receipt");
  private static final List<Intent> INTENTS = List.of(Intent.values());
  private static final int LONGEST_INTENT = 32;
  private static final Identity SOMEBODY = Identity.of("x", "y");

  private @Nullable String rule;
  private @Nullable List<String> rules;
  private boolean nameless; // a rule was given, and complained about already
  private @Nullable Map<String, String> facets;
  private long cost = 1;
  private Map<String, Long> costs = Map.of();
  private @Nullable String id;
  private Intent intent = Intent.TAKE;
  private boolean receipt;

  private CheckRequest() {}

  /**
   * A call, and whether its client wants a receipt.
   *
   * @param receipt whether the answer has one; a reservation is of no use without
   */
  public record Check(Call call, boolean receipt) {}

  /** The call in a body; {@link BadInput} names everything that is wrong. */
  public static Check parse(byte[] body, RequestFacets known) {
    CheckRequest request = new CheckRequest();
    List<String> errors = new ArrayList<>(JsonInput.read(body, MEMBERS, request::member));
    List<String> names = request.names(errors);
    Identity identity = request.identity(names, known, errors);
    if (!names.isEmpty()) {
      checkCosts(request.costs, names, "a rule that the call does not name", errors);
    }
    int others = errors.size();
    unknown(names, known.rules(), errors);
    if (!errors.isEmpty()) {
      throw new BadInput(errors, others == 0);
    }
    Call call = new Call(names, identity, request.cost, request.costs, request.id, request.intent);
    return new Check(call, request.receipt || request.intent == Intent.RESERVE);
  }

  private void member(String name, JsonInput input) throws IOException {
    switch (name) {
      case "rule" -> {
        String given = input.string(name, Bounds.LONGEST_RULE_NAME);
        rule = given;
        nameless |= given == null;
      }
      case "rules" -> {
        List<String> given = input.strings(name, Bounds.MOST_RULES, Bounds.LONGEST_RULE_NAME);
        rules = given;
        nameless |= given == null;
      }
      case "identity" -> {
        facets =
            input.texts(
                name, Bounds.MOST_FACETS, Bounds.LONGEST_FACET_NAME, Bounds.LONGEST_FACET_VALUE);
        facets = facets == null ? Map.of() : facets;
      }
      case "cost" -> {
        Long given = input.number(name);
        cost = given == null ? 1 : given;
      }
      case "costs" -> {
        Map<String, Long> given = input.numbers(name, Bounds.MOST_RULES, Bounds.LONGEST_RULE_NAME);
        costs = given == null ? Map.of() : given;
      }
      case "id" -> id = checkedId(input);
      case "intent" -> intent = checkedIntent(input);
      case "receipt" -> receipt = input.flag(name);
      default -> throw new IllegalStateException(name);
    }
  }

  private static @Nullable String checkedId(JsonInput input) throws IOException {
    String id = input.string("id", Bounds.LONGEST_ID);
    try {
      if (id != null) {
        Bounds.checkId(id);
      }
      return id;
    } catch (IllegalArgumentException e) {
      input.error(String.valueOf(e.getMessage()));
      return null;
    }
  }

  private static Intent checkedIntent(JsonInput input) throws IOException {
    String text = input.string("intent", LONGEST_INTENT);
    for (Intent intent : INTENTS) {
      if (intent.name().toLowerCase(Locale.ROOT).equals(text)) {
        return intent;
      }
    }
    if (text != null) {
      input.error(
          "intent: %s (expected: one of %s)"
              .formatted(Text.quoted(text), INTENTS.toString().toLowerCase(Locale.ROOT)));
    }
    return Intent.TAKE;
  }

  private List<String> names(List<String> errors) {
    if (nameless) {
      return List.of();
    }
    if ((rule == null) == (rules == null)) {
      errors.add(
          rule == null
              ? "rule: missing (expected: rule with a name, or rules with several)"
              : "rule and rules: both given (expected: one of them)");
      return List.of();
    }
    return rules == null ? List.of(String.valueOf(rule)) : rules;
  }

  private Identity identity(List<String> names, RequestFacets known, List<String> errors) {
    Map<String, String> given = facets;
    if (given == null) {
      if (!names.isEmpty() && names.stream().allMatch(name -> countsEveryone(name, known))) {
        return Identity.none();
      }
      errors.add("identity: missing (expected: an object such as {\"login\": \"ann\"})");
      return SOMEBODY;
    }
    return identity(given, known, errors);
  }

  /** Whether a rule needs no facet, because it counts all callers together. */
  private static boolean countsEveryone(String name, RequestFacets known) {
    Rule rule = known.rules().find(name);
    return rule != null && rule.by().equals(List.of(Rule.EVERYONE));
  }

  /** An identity of facets. Every facet that is not valid is reported. */
  public static Identity identity(
      Map<String, String> given, RequestFacets known, List<String> errors) {
    Map<String, String> canonical = new LinkedHashMap<>();
    Identity last = Identity.none();
    int before = errors.size();
    for (Map.Entry<String, String> facet : given.entrySet()) {
      try {
        String form = known.canonical(facet.getKey(), facet.getValue());
        last = Identity.of(facet.getKey(), form);
        canonical.put(facet.getKey(), form);
      } catch (IllegalArgumentException e) {
        errors.add(String.valueOf(e.getMessage()));
      }
    }
    if (errors.size() > before) {
      return SOMEBODY;
    }
    return canonical.size() == 1 ? last : Identity.of(canonical);
  }

  /**
   * Reports every cost that belongs to none of these rules.
   *
   * @param found what such a rule is
   */
  static void checkCosts(
      Map<String, Long> costs, List<String> rules, String found, List<String> errors) {
    for (String rule : costs.keySet()) {
      if (!rules.contains(rule)) {
        errors.add(
            "%s: %s (expected: one of %s)"
                .formatted(JsonInput.path("costs", rule), found, Text.listed(rules)));
      }
    }
  }

  /** Refuses names of which one is no rule, or that are too many. */
  static void checkKnown(List<String> names, Rules rules) {
    Bounds.checkRuleCount(names.size());
    List<String> errors = new ArrayList<>();
    unknown(names, rules, errors);
    if (!errors.isEmpty()) {
      throw new BadInput(errors, true);
    }
  }

  private static void unknown(List<String> names, Rules rules, List<String> errors) {
    boolean first = true;
    for (String name : names) {
      if (rules.find(name) == null) {
        errors.add(first ? unknown(name, rules) : "rule %s: unknown".formatted(Text.quoted(name)));
        first = false;
      }
    }
  }

  /** That there is no such rule, and which one may have been meant. */
  public static String unknown(String name, Rules rules) {
    List<String> names = rules.all().stream().map(Rule::name).toList();
    return String.valueOf(new UnknownRuleException(name, names).getMessage());
  }
}
