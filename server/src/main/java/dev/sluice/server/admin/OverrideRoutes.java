package dev.sluice.server.admin;

import com.fasterxml.jackson.core.JsonGenerator;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.Identity;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.internal.Text;
import dev.sluice.rules.KeptOverride;
import dev.sluice.rules.RuleErrors;
import dev.sluice.rules.RuleFiles;
import dev.sluice.rules.source.KeptOverrides;
import dev.sluice.server.api.CallerFacets;
import dev.sluice.server.api.CheckRequest;
import dev.sluice.server.http.BadInput;
import dev.sluice.server.http.Body;
import dev.sluice.server.http.Query;
import dev.sluice.server.http.Replies;
import java.io.IOException;
import java.security.SecureRandom;
import java.time.Instant;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The routes of overrides that operators make at run time. */
public final class OverrideRoutes {
  private static final int PAGE = 1_000;
  private static final int DEFAULT_PAGE = 100;

  private final CallerFacets edge;
  private final KeptOverrides overrides;
  private final Audit audit;
  private final int mostRequestBytes;

  public OverrideRoutes(
      CallerFacets edge, KeptOverrides overrides, Audit audit, int mostRequestBytes) {
    this.edge = edge;
    this.overrides = overrides;
    this.audit = audit;
    this.mostRequestBytes = mostRequestBytes;
  }

  /** {@code GET /v1/overrides?q=&limit=&after=}: the newest first. */
  public HttpResponse list(ServiceRequestContext ctx, HttpRequest request, Operator operator) {
    String wanted = ctx.queryParam("q") == null ? "" : ctx.queryParam("q").toLowerCase(Locale.ROOT);
    String after = Query.text(ctx, "after");
    Place place = after == null ? null : Place.read(after);
    int limit = Query.limit(ctx, DEFAULT_PAGE, PAGE);
    List<KeptOverride> matching =
        overrides.all().stream().filter(each -> contains(each, wanted)).toList();
    List<KeptOverride> behind =
        place == null ? matching : matching.stream().filter(place::isBefore).toList();
    List<KeptOverride> page = behind.subList(0, Math.min(limit, behind.size()));
    String next =
        page.size() < behind.size() ? Place.of(page.get(page.size() - 1)).toString() : null;
    return HttpResponse.of(
        overrides
            .lastApplied()
            .thenApplyAsync(
                applied ->
                    Replies.ok(
                        json -> {
                          json.writeArrayFieldStart("overrides");
                          for (KeptOverride each : page) {
                            json.writeStartObject();
                            write(json, each, applied);
                            json.writeEndObject();
                          }
                          json.writeEndArray();
                          json.writeNumberField("total", matching.size());
                          json.writeStringField("next", next);
                        }),
                ctx.blockingTaskExecutor()));
  }

  /** A place in the list, also behind an override that has been removed since. */
  private record Place(Instant created, String id) {
    private static final Pattern FORM = Pattern.compile("(-?\\d{1,18})\\.([A-Za-z0-9_-]{1,64})");

    static Place of(KeptOverride override) {
      return new Place(override.created(), override.id());
    }

    static Place read(String text) {
      Matcher matcher = FORM.matcher(text);
      if (!matcher.matches()) {
        throw new BadInput(
            "after: %s (expected: the next of another page)".formatted(Text.quoted(text)));
      }
      return new Place(Instant.ofEpochMilli(Long.parseLong(matcher.group(1))), matcher.group(2));
    }

    boolean isBefore(KeptOverride override) {
      return KeptOverrides.isBehind(override, created, id);
    }

    @Override
    public String toString() {
      return created.toEpochMilli() + "." + id;
    }
  }

  private static boolean contains(KeptOverride each, String wanted) {
    return wanted.isEmpty()
        || (each.rule() + ' ' + each.reason() + ' ' + each.by() + ' ' + each.text())
            .toLowerCase(Locale.ROOT)
            .contains(wanted);
  }

  /** Writes the members of an override. */
  private void write(JsonGenerator json, KeptOverride each, Map<String, Instant> applied)
      throws IOException {
    json.writeStringField("id", each.id());
    json.writeStringField("rule", each.rule());
    json.writeStringField("by", each.by());
    json.writeStringField("created", each.created().toString());
    json.writeStringField("reason", each.reason());
    Rule.Special special = overrides.special(each.id());
    if (OverrideText.isOurs(each.text())) {
      OverrideText.copyMembers(each.text(), json);
    } else if (special != null) {
      RuleJson.write(json, special, edge.limiter().rules());
    } else {
      json.writeObjectFieldStart("when");
      json.writeEndObject();
    }
    Instant last = applied.get(each.id());
    json.writeStringField("applied", last == null ? null : last.toString());
    json.writeStringField("skipped", overrides.whyUnused(each.id()));
  }

  /** When overrides last applied, by their ids. */
  public CompletionStage<Map<String, Instant>> lastApplied() {
    return overrides.lastApplied();
  }

  /**
   * Writes the overrides for a client, as elements of an array: those of operators, then those of
   * the rule file, which have no id.
   */
  public void writeFor(
      JsonGenerator json, Identity identity, Map<String, Instant> applied, int most)
      throws IOException {
    List<KeptOverrides.Match> all = overrides.matching(identity);
    for (KeptOverrides.Match match : all.subList(0, Math.min(most, all.size()))) {
      json.writeStartObject();
      if (match.kept().isPresent()) {
        write(json, match.kept().get(), applied);
      } else {
        json.writeStringField("rule", match.rule());
        RuleJson.write(json, match.special(), edge.limiter().rules());
        json.writeBooleanField("file", true);
      }
      json.writeEndObject();
    }
  }

  /** {@code PUT /v1/overrides}: makes an override with a new id. */
  public HttpResponse create(ServiceRequestContext ctx, HttpRequest request, Operator operator) {
    byte[] random = new byte[6];
    new SecureRandom().nextBytes(random);
    return put(ctx, request, operator, HexFormat.of().formatHex(random), "override made");
  }

  /** {@code PUT /v1/overrides/{id}}: makes or replaces the override of an id. */
  public HttpResponse replace(ServiceRequestContext ctx, HttpRequest request, Operator operator) {
    return put(ctx, request, operator, String.valueOf(ctx.pathParam("id")), "override changed");
  }

  private HttpResponse put(
      ServiceRequestContext ctx, HttpRequest request, Operator operator, String id, String action) {
    return HttpResponse.of(
        Body.read(request, mostRequestBytes)
            .thenComposeAsync(
                body -> put(ctx, operator, OverrideRequest.parse(body), id, action),
                ctx.blockingTaskExecutor()));
  }

  private CompletionStage<HttpResponse> put(
      ServiceRequestContext ctx,
      Operator operator,
      OverrideRequest request,
      String id,
      String action) {
    Rules rules = edge.limiter().rules();
    Rule rule = rules.find(request.rule());
    if (rule == null) {
      throw new BadInput(List.of(CheckRequest.unknown(request.rule(), rules)), true);
    }
    KeptOverride override = checked(request, rule, rules, operator, id);
    String before = overrides.find(id).map(OverrideText::audited).orElse("none");
    return overrides
        .put(override)
        .thenApply(
            done -> {
              if (!done) {
                return Replies.problem(
                    HttpStatus.CONFLICT,
                    "overrides: there are %,d already (expected: at most that; remove some)"
                        .formatted(KeptOverride.MOST));
              }
              audit.log(
                  ctx,
                  operator,
                  action,
                  rule.name(),
                  OverrideText.identity(override.text()),
                  before,
                  OverrideText.audited(override));
              return Replies.ok(json -> write(json, override, Map.of()));
            });
  }

  private KeptOverride checked(
      OverrideRequest request, Rule rule, Rules rules, Operator operator, String id) {
    try {
      // Checked as it came, so that messages show what was sent; kept without secrets.
      Instant now = edge.limiter().clock().instant();
      checkEnd(RuleFiles.parseOverride("override", request.terms(Map.of()), rule, rules), now);
      String text = request.terms(rules.withoutSecrets(request.when()));
      KeptOverride override =
          new KeptOverride(
              id, rule.name(), overrides.created(now), operator.name(), request.reason(), text);
      Rule.Special unused = override.in(rule, rules);
      return override;
    } catch (RuleErrors errors) {
      throw new BadInput(errors.problems().stream().map(OverrideRoutes::inWords).toList(), false);
    }
  }

  private static void checkEnd(Rule.Special special, Instant now) {
    Instant until = special.until();
    if (until != null && !until.isAfter(now)) {
      throw new BadInput("until: " + until + " (expected: a time in the future)");
    }
  }

  private static String inWords(RuleErrors.Problem problem) {
    return "%s (%s)".formatted(problem.found(), problem.advice());
  }

  /** {@code DELETE /v1/overrides/{id}}. */
  public HttpResponse remove(ServiceRequestContext ctx, HttpRequest request, Operator operator) {
    String id = String.valueOf(ctx.pathParam("id"));
    Optional<KeptOverride> known = overrides.find(id);
    return HttpResponse.of(
        overrides
            .remove(id)
            .thenApply(
                done -> {
                  if (done) {
                    audit.log(
                        ctx,
                        operator,
                        "override removed",
                        known.map(KeptOverride::rule).orElse(""),
                        known
                            .map(each -> OverrideText.identity(each.text()))
                            .orElse(Identity.none()),
                        known.map(OverrideText::audited).orElse(""),
                        "none");
                  }
                  return Replies.ok(json -> json.writeBooleanField("removed", done));
                }));
  }
}
