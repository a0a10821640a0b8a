package dev.sluice.server.admin;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.Identity;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.internal.Bounds;
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
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.security.SecureRandom;
import java.time.Instant;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletionStage;

/** The routes of overrides that operators make at run time. */
public final class OverrideRoutes {
  private static final int PAGE = 1_000;
  private static final int DEFAULT_PAGE = 100;
  private static final JsonFactory JSON = new JsonFactory();

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
    String after = ctx.queryParam("after");
    int limit = Query.limit(ctx, DEFAULT_PAGE, PAGE);
    List<KeptOverride> matching =
        overrides.all().stream().filter(each -> contains(each, wanted)).toList();
    int from = 0;
    if (after != null && !after.isEmpty()) {
      from = matching.stream().map(KeptOverride::id).toList().indexOf(after) + 1;
    }
    List<KeptOverride> page = matching.stream().skip(from).limit(limit).toList();
    boolean more = from + page.size() < matching.size();
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
                          json.writeStringField(
                              "next", more ? page.get(page.size() - 1).id() : null);
                        }),
                ctx.blockingTaskExecutor()));
  }

  private static boolean contains(KeptOverride each, String wanted) {
    return wanted.isEmpty()
        || (each.rule() + ' ' + each.reason() + ' ' + each.by() + ' ' + each.text())
            .toLowerCase(Locale.ROOT)
            .contains(wanted);
  }

  /** Writes the members of an override. */
  public void write(JsonGenerator json, KeptOverride each, Map<String, Instant> applied)
      throws IOException {
    json.writeStringField("id", each.id());
    json.writeStringField("rule", each.rule());
    json.writeStringField("by", each.by());
    json.writeStringField("created", each.created().toString());
    json.writeStringField("reason", each.reason());
    copyMembers(each.text(), json);
    Instant last = applied.get(each.id());
    json.writeStringField("applied", last == null ? null : last.toString());
    json.writeStringField("skipped", overrides.whyUnused(each.id()));
  }

  private static void copyMembers(String text, JsonGenerator json) throws IOException {
    try (JsonParser parser = JSON.createParser(text)) {
      parser.nextToken();
      while (parser.nextToken() == JsonToken.FIELD_NAME) {
        json.copyCurrentStructure(parser);
      }
    }
  }

  /** The overrides that name some of the facets of an identity, with the same values. */
  public List<KeptOverride> of(Identity identity) {
    return overrides.inForce(
        when ->
            when.entrySet().stream()
                .allMatch(
                    facet -> {
                      String value = identity.facet(facet.getKey());
                      return value != null && sameValue(facet.getValue(), value);
                    }));
  }

  private static boolean sameValue(String wanted, String value) {
    return wanted.equals(value)
        || (Identity.isShownHash(wanted)
            && value.length() > 1
            && wanted.endsWith(value.substring(1))
            && value.charAt(0) == '\u0002');
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
    String before =
        overrides.all().stream()
            .filter(each -> each.id().equals(id))
            .map(KeptOverride::text)
            .findFirst()
            .orElse("none");
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
                  ctx, operator, action, rule.name(), Identity.none(), before, override.text());
              return Replies.ok(json -> write(json, override, Map.of()));
            });
  }

  private static KeptOverride checked(
      OverrideRequest request, Rule rule, Rules rules, Operator operator, String id) {
    try {
      // Checked as it came, so that messages show what was sent; kept without secrets.
      RuleFiles.parseOverride("override", request.terms(Map.of()), rule, rules);
      String text = request.terms(rules.withoutSecrets(request.when()));
      KeptOverride override =
          new KeptOverride(id, rule.name(), Instant.now(), operator.name(), request.reason(), text);
      Rule.Special unused = override.in(rule, rules);
      return override;
    } catch (RuleErrors errors) {
      throw new BadInput(errors.problems().stream().map(OverrideRoutes::inWords).toList(), false);
    }
  }

  private static String inWords(RuleErrors.Problem problem) {
    return "%s (%s)".formatted(problem.found(), problem.advice());
  }

  /** {@code DELETE /v1/overrides/{id}}. */
  public HttpResponse remove(ServiceRequestContext ctx, HttpRequest request, Operator operator) {
    String id = String.valueOf(ctx.pathParam("id"));
    KeptOverride known =
        overrides.all().stream().filter(each -> each.id().equals(id)).findFirst().orElse(null);
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
                        known == null ? "" : known.rule(),
                        Identity.none(),
                        known == null ? "" : known.text(),
                        "none");
                  }
                  return Replies.ok(json -> json.writeBooleanField("removed", done));
                }));
  }

  /** The body of a request for an override. */
  private record OverrideRequest(
      String rule, String reason, Map<String, String> when, String original) {
    private static final List<String> OWN =
        List.of("id", "rule", "reason", "by", "created", "applied", "skipped");

    static OverrideRequest parse(byte[] body) {
      String rule = "";
      String reason = "";
      Map<String, String> when = new LinkedHashMap<>();
      StringWriter kept = new StringWriter();
      try (JsonParser parser = JSON.createParser(body);
          JsonGenerator json = JSON.createGenerator(kept)) {
        if (parser.nextToken() != JsonToken.START_OBJECT) {
          throw new BadInput("body: not a JSON object (expected: {\"rule\": …, \"when\": …})");
        }
        json.writeStartObject();
        while (parser.nextToken() == JsonToken.FIELD_NAME) {
          String name = parser.currentName();
          if (name.equals("when") && parser.nextToken() == JsonToken.START_OBJECT) {
            readWhen(parser, when);
          } else if (OWN.contains(name)) {
            JsonToken value = parser.nextToken();
            if (value != JsonToken.VALUE_STRING && value != JsonToken.VALUE_NULL) {
              throw new BadInput(name + ": not a text (expected: a text)");
            }
            String text = parser.getValueAsString("");
            rule = name.equals("rule") ? text : rule;
            reason = name.equals("reason") ? text : reason;
            parser.skipChildren();
          } else if (!name.equals("when")) {
            json.copyCurrentStructure(parser);
          }
        }
        json.writeEndObject();
      } catch (IOException e) {
        throw new BadInput("body: not well-formed (expected: JSON)");
      }
      if (rule.isEmpty()) {
        throw new BadInput("rule: missing (expected: the name of a rule)");
      }
      if (reason.length() > Bounds.LONGEST_REASON || !Text.isPrintable(reason)) {
        throw new BadInput(
            "reason: %,d characters (expected: at most %d, no control characters)"
                .formatted(reason.length(), Bounds.LONGEST_REASON));
      }
      return new OverrideRequest(rule, reason, when, kept.toString());
    }

    private static void readWhen(JsonParser parser, Map<String, String> when) throws IOException {
      while (parser.nextToken() == JsonToken.FIELD_NAME) {
        String facet = parser.currentName();
        if (parser.nextToken().isScalarValue()) {
          when.put(facet, parser.getValueAsString(""));
        } else {
          throw new BadInput("when." + facet + ": not a text (expected: a text)");
        }
      }
    }

    /** The override as in a rule file, with these values, or those of the request if none. */
    String terms(Map<String, String> values) {
      StringWriter text = new StringWriter();
      try (JsonParser parser = JSON.createParser(original);
          JsonGenerator json = JSON.createGenerator(text)) {
        json.writeStartObject();
        json.writeObjectFieldStart("when");
        for (Map.Entry<String, String> facet : (values.isEmpty() ? when : values).entrySet()) {
          json.writeStringField(facet.getKey(), facet.getValue());
        }
        json.writeEndObject();
        parser.nextToken();
        while (parser.nextToken() == JsonToken.FIELD_NAME) {
          json.copyCurrentStructure(parser);
        }
        json.writeEndObject();
      } catch (IOException e) {
        throw new UncheckedIOException("text cannot fail to be written", e);
      }
      return text.toString();
    }
  }
}
