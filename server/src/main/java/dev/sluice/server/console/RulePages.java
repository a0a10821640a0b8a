package dev.sluice.server.console;

import com.fasterxml.jackson.core.JsonGenerator;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.Limiter;
import dev.sluice.Rule;
import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.rules.RuleVersion;
import dev.sluice.rules.RuleWords;
import dev.sluice.server.admin.Audit;
import dev.sluice.server.admin.Operator;
import dev.sluice.server.http.Query;
import dev.sluice.server.http.Replies;
import dev.sluice.server.http.Settings;
import java.io.IOException;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The rules in force, in sentences; what changed in them; rules that were refused. */
final class RulePages {
  private static final int MOST = 200;
  private static final int DEFAULT_PAGE = 50;
  private static final int MOST_CHANGES = 50;

  private static final Optional<List<Audit.Entry>> NOT_KNOWN = Optional.empty();

  private final Limiter limiter;
  private final Audit audit;
  private final Settings settings;
  private volatile @Nullable Known known;

  RulePages(Limiter limiter, Audit audit, Settings settings) {
    this.limiter = limiter;
    this.audit = audit;
    this.settings = settings;
  }

  /** Rules that were looked at before, and their version. */
  private record Known(Rules rules, String version) {}

  /** A rule and its sentences. */
  private record Explained(Rule rule, List<String> sentences) {
    boolean contains(String wanted) {
      return rule.name().toLowerCase(Locale.ROOT).contains(wanted)
          || sentences.stream().anyMatch(each -> each.toLowerCase(Locale.ROOT).contains(wanted));
    }
  }

  /**
   * Some rules, sorted by name.
   *
   * @param total how many rules match
   * @param next the last name of this page if there are more, else null
   */
  private record Page(List<Explained> rules, int total, @Nullable String next) {}

  /** {@code GET rules?q=&limit=&after=}. */
  HttpResponse list(ServiceRequestContext ctx, HttpRequest request, Operator operator) {
    Rules rules = limiter.rules();
    RuleSource.Failure failure = limiter.source().failure().orElse(null);
    String wanted = Query.text(ctx, "q");
    String after = Query.text(ctx, "after");
    int limit = Query.limit(ctx, DEFAULT_PAGE, MOST);
    return HttpResponse.of(
        audit
            .changesOfRules(MOST_CHANGES)
            // The rules in force are known also while the store does not answer.
            .handle((found, error) -> error == null ? Optional.of(found) : NOT_KNOWN)
            .thenApply(
                changes ->
                    Replies.ok(
                        json -> {
                          json.writeStringField("source", settings.rulesName());
                          json.writeStringField("version", version(rules));
                          json.writeNumberField("inForce", rules.size());
                          write(json, page(rules, wanted, after, limit));
                          write(json, failure);
                          json.writeBooleanField("changesKnown", changes.isPresent());
                          write(json, changes.orElse(List.of()));
                        })));
  }

  /** {@code GET rule-names}: of all rules in force. */
  HttpResponse names(ServiceRequestContext ctx, HttpRequest request, Operator operator) {
    List<String> names = limiter.rules().all().stream().map(Rule::name).sorted().toList();
    return Replies.ok(json -> OverviewJson.writeTexts(json, "names", names));
  }

  private Page page(Rules rules, @Nullable String q, @Nullable String after, int limit) {
    InstantSource clock = settings.clock();
    String wanted = q == null ? "" : q.toLowerCase(Locale.ROOT);
    List<Explained> page = new ArrayList<>();
    int total = 0;
    boolean more = false;
    for (Rule rule : rules.all().stream().sorted(Comparator.comparing(Rule::name)).toList()) {
      boolean isBehind = after == null || rule.name().compareTo(after) > 0;
      if (wanted.isEmpty() && (!isBehind || page.size() == limit)) {
        total++; // without its sentences, which nobody reads
        more |= isBehind;
        continue;
      }
      Explained explained = new Explained(rule, RuleWords.explain(rules, rule.name(), clock));
      if (explained.contains(wanted)) {
        total++;
        more |= isBehind && page.size() == limit;
        if (isBehind && page.size() < limit) {
          page.add(explained);
        }
      }
    }
    return new Page(page, total, more ? page.get(page.size() - 1).rule.name() : null);
  }

  @SuppressWarnings("ReferenceEquality") // a source returns the same object until its rules change
  private String version(Rules rules) {
    Known last = known;
    if (last == null || last.rules != rules) {
      last = new Known(rules, RuleVersion.of(rules).version());
      known = last;
    }
    return last.version;
  }

  private static void write(JsonGenerator json, Page page) throws IOException {
    json.writeArrayFieldStart("rules");
    for (Explained each : page.rules) {
      json.writeStartObject();
      json.writeStringField("name", each.rule.name());
      json.writeStringField("mode", each.rule.enforced() ? "enforce" : "shadow");
      OverviewJson.writeTexts(json, "sentences", each.sentences);
      json.writeEndObject();
    }
    json.writeEndArray();
    json.writeNumberField("total", page.total);
    json.writeStringField("next", page.next);
  }

  private static void write(JsonGenerator json, RuleSource.@Nullable Failure failure)
      throws IOException {
    if (failure == null) {
      json.writeNullField("failure");
      return;
    }
    json.writeObjectFieldStart("failure");
    json.writeStringField("since", failure.since().toString());
    json.writeStringField("message", failure.message());
    json.writeEndObject();
  }

  private static void write(JsonGenerator json, List<Audit.Entry> changes) throws IOException {
    json.writeArrayFieldStart("changes");
    for (Audit.Entry change : changes) {
      json.writeStartObject();
      json.writeStringField("at", change.at().toString());
      json.writeStringField("who", change.who());
      json.writeStringField("what", change.after());
      json.writeEndObject();
    }
    json.writeEndArray();
  }
}
