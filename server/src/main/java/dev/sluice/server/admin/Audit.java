package dev.sluice.server.admin;

import com.fasterxml.jackson.core.JsonGenerator;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpResponseWriter;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.common.ResponseHeaders;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.Identity;
import dev.sluice.internal.Percent;
import dev.sluice.internal.Text;
import dev.sluice.server.http.BadInput;
import dev.sluice.server.http.Query;
import dev.sluice.server.http.Replies;
import dev.sluice.store.SharedData;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The audit trail: each change by an operator, with its author, before and after. It is written to
 * the log, and kept in the shared data for all services of a store. Thread-safe.
 */
public final class Audit {
  /** The header with the user who runs a command; a claim that nothing proves. */
  public static final String USER_HEADER = "sluice-user";

  private static final Logger LOG = LoggerFactory.getLogger("sluice.audit");
  private static final String TRAIL = "audit";
  private static final int MOST = 10_000;

  /** How long the trail is kept after the last change. */
  static final Duration TTL = Duration.ofDays(400);

  private static final int PAGE = 1_000;
  private static final int EXPORT_PAGE = 200;
  private static final String CSV_HEAD = "at,who,action,rule,identity,before,after\r\n";
  private static final int DEFAULT_PAGE = 100;
  private static final String RULES_CHANGED = "rules changed";

  /** Of a text in an entry, as it is kept. */
  private static final int LONGEST_WORD = 2_048;

  private final SharedData data;

  /** An audit trail in the shared data of a store. */
  public Audit(SharedData data) {
    this.data = data;
  }

  /**
   * A change.
   *
   * @param id its name in the trail
   * @param who the operator, what was claimed, and the address
   * @param rule empty if the change concerns no rule
   * @param identity empty if the change concerns nobody
   */
  public record Entry(
      String id,
      Instant at,
      String who,
      String action,
      String rule,
      String identity,
      String before,
      String after) {

    private static Optional<Entry> read(SharedData.Entry entry) {
      String[] words = entry.text().split(" ", -1);
      try {
        return words.length == 6
            ? Optional.of(
                new Entry(
                    entry.id(),
                    entry.at(),
                    decode(words[0]),
                    decode(words[1]),
                    decode(words[2]),
                    decode(words[3]),
                    decode(words[4]),
                    decode(words[5])))
            : Optional.empty();
      } catch (IllegalArgumentException notOurs) {
        return Optional.empty();
      }
    }

    private static String decode(String word) {
      return Percent.decode(word);
    }

    private boolean contains(String wanted) {
      return Stream.of(who, action, rule, identity, before, after)
          .anyMatch(text -> text.toLowerCase(Locale.ROOT).contains(wanted));
    }

    private void write(JsonGenerator json) throws IOException {
      json.writeStartObject();
      json.writeStringField("at", at.toString());
      json.writeStringField("who", who);
      json.writeStringField("action", action);
      json.writeStringField("rule", rule);
      json.writeStringField("identity", identity);
      json.writeStringField("before", before);
      json.writeStringField("after", after);
      json.writeEndObject();
    }

    /** A line of CSV. A spreadsheet must not take a text for a formula. */
    private String csv() {
      return Stream.of(at.toString(), who, action, rule, identity, before, after)
          .map(text -> text.matches("(?s)[=+\\-@\t\r].*") ? "'" + text : text)
          .map(text -> "\"" + text.replace("\"", "\"\"") + "\"")
          .collect(Collectors.joining(","));
    }
  }

  void log(
      ServiceRequestContext ctx,
      Operator operator,
      String action,
      String rule,
      Identity identity,
      String before,
      String after) {
    String who = who(ctx, operator);
    LOG.atInfo()
        .addKeyValue("who", who)
        .addKeyValue("rule", rule)
        .addKeyValue("identity", identity)
        .addKeyValue("before", before)
        .addKeyValue("after", after)
        .log("{}", action);
    keep(who, action, rule, identity.toString(), before, after);
  }

  /** A change that concerns no rule. */
  void log(ServiceRequestContext ctx, Operator operator, String action) {
    String who = who(ctx, operator);
    LOG.atInfo().addKeyValue("who", who).log("{}", action);
    keep(who, action, "", "", "", "");
  }

  /** Other rules are in force. Completes when that is in the trail. */
  CompletionStage<Void> rulesChanged(String source, String before, String after) {
    return append(source, RULES_CHANGED, "", "", before, after);
  }

  private CompletionStage<Void> append(
      String who, String action, String rule, String identity, String before, String after) {
    String text =
        joined(
            shortened(who),
            action,
            rule,
            Percent.encode(identity).length() <= LONGEST_WORD ? identity : "",
            shortened(before),
            shortened(after));
    return data.append(TRAIL, List.of(text), MOST, TTL);
  }

  private void keep(
      String who, String action, String rule, String identity, String before, String after) {
    var unused =
        append(who, action, rule, identity, before, after)
            .whenComplete(
                (done, error) -> {
                  if (error != null) {
                    LOG.warn("The change is not in the shared audit trail: {}", error.getMessage());
                  }
                });
  }

  private static String joined(String... words) {
    return Stream.of(words).map(Percent::encode).collect(Collectors.joining(" "));
  }

  /** The begin of a text, so that ten thousand entries have a size that is known. */
  private static String shortened(String text) {
    if (Percent.encode(text).length() <= LONGEST_WORD) {
      return text;
    }
    StringBuilder begin = new StringBuilder();
    int length = 0;
    for (int letter : text.codePoints().toArray()) {
      length += Percent.encode(Character.toString(letter)).length();
      if (length > LONGEST_WORD) {
        break;
      }
      begin.appendCodePoint(letter);
    }
    return begin + "…";
  }

  private static String who(ServiceRequestContext ctx, Operator operator) {
    String peer = ctx.remoteAddress().getAddress().getHostAddress();
    return who(operator.name(), ctx.request().headers().get(USER_HEADER), peer);
  }

  /** The proven name first; then, so that it cannot be taken for one, what was only claimed. */
  static String who(String proven, @Nullable String claimed, String peer) {
    String claim = claimed == null ? "" : " (claims " + quoted(claimed) + ")";
    return proven + claim + " at " + peer;
  }

  /** In quotes that the text itself cannot end. */
  private static String quoted(String claimed) {
    String text = Text.quoted(claimed);
    String inside = text.substring(1, text.length() - 1);
    return "'" + inside.replace("'", "\\u0027").replace("\"", "\\u0022") + "'";
  }

  // ---- Reading it -----------------------------------------------------------------------------

  /** {@code GET /v1/audit?q=&limit=&after=}: newest first. */
  public HttpResponse list(ServiceRequestContext ctx, HttpRequest request, Operator operator) {
    int limit = Query.limit(ctx, DEFAULT_PAGE, PAGE);
    return HttpResponse.of(
        find(wanted(ctx), limit, after(ctx))
            .thenApply(
                found ->
                    Replies.ok(
                        json -> {
                          json.writeArrayFieldStart("entries");
                          for (Entry entry : found) {
                            entry.write(json);
                          }
                          json.writeEndArray();
                          json.writeStringField(
                              "next",
                              found.size() < limit ? null : found.get(found.size() - 1).id());
                        })));
  }

  private static @Nullable String after(ServiceRequestContext ctx) {
    String after = ctx.queryParam("after");
    if (after == null || after.isEmpty()) {
      return null;
    }
    if (!SharedData.Entry.isId(after)) {
      throw new BadInput(
          "after: %s (expected: the next of another page)".formatted(Text.quoted(after)));
    }
    return after;
  }

  private static String wanted(ServiceRequestContext ctx) {
    String text = ctx.queryParam("q");
    return text == null ? "" : text.toLowerCase(Locale.ROOT);
  }

  /** {@code GET …/audit/export?format=csv|json&q=}: all of it, as a file. */
  public HttpResponse export(ServiceRequestContext ctx, HttpRequest request, Operator operator) {
    String format = String.valueOf(ctx.queryParam("format"));
    if (!List.of("csv", "json").contains(format)) {
      throw new BadInput("format: %s (expected: csv or json)".formatted(Text.quoted(format)));
    }
    boolean csv = format.equals("csv");
    HttpResponseWriter response = HttpResponse.streaming();
    response.write(
        ResponseHeaders.builder(HttpStatus.OK)
            .contentType(csv ? MediaType.CSV_UTF_8 : MediaType.JSON)
            .add(
                HttpHeaderNames.CONTENT_DISPOSITION,
                "attachment; filename=\"sluice-audit." + format + "\"")
            .add(HttpHeaderNames.CACHE_CONTROL, "no-store")
            .build());
    String wanted = wanted(ctx);
    ctx.clearRequestTimeout();
    new Export(
            response,
            ctx.blockingTaskExecutor(),
            csv,
            entry -> wanted.isEmpty() || entry.contains(wanted))
        .from(null);
    return response;
  }

  /** A file that is written page by page, as fast as it is read. */
  private final class Export {
    private final HttpResponseWriter response;
    private final Executor executor;
    private final boolean csv;
    private final Predicate<Entry> wanted;
    private boolean begun;
    private boolean any;
    private int seen;

    Export(HttpResponseWriter response, Executor executor, boolean csv, Predicate<Entry> wanted) {
      this.response = response;
      this.executor = executor;
      this.csv = csv;
      this.wanted = wanted;
    }

    void from(@Nullable String before) {
      var unused =
          data.newest(TRAIL, EXPORT_PAGE, before)
              .thenAccept(this::write)
              .exceptionally(
                  error -> {
                    response.close(error);
                    return null;
                  });
    }

    private void write(List<SharedData.Entry> page) {
      StringBuilder text = new StringBuilder();
      if (!begun) {
        text.append(csv ? CSV_HEAD : "[");
      }
      List<Entry> entries =
          page.stream().map(Entry::read).flatMap(Optional::stream).filter(wanted).toList();
      if (csv) {
        entries.forEach(entry -> text.append(entry.csv()).append("\r\n"));
      } else if (!entries.isEmpty()) {
        text.append(any ? "," : "").append(json(entries));
        any = true;
      }
      begun = true;
      seen += page.size();
      boolean last = page.size() < EXPORT_PAGE || seen >= MOST;
      if (last && !csv) {
        text.append(']');
      }
      boolean open = response.tryWrite(HttpData.ofUtf8(text));
      if (last) {
        response.close();
      } else if (open) {
        String next = page.get(page.size() - 1).id();
        var unused = response.whenConsumed().thenRunAsync(() -> from(next), executor);
      }
    }

    /** The elements of an array, without its brackets. */
    private static String json(List<Entry> entries) {
      String array =
          Replies.arrayText(
              json -> {
                for (Entry entry : entries) {
                  entry.write(json);
                }
              });
      return array.substring(1, array.length() - 1);
    }
  }

  /** The newest changes of rules. */
  public CompletionStage<List<Entry>> changesOfRules(int most) {
    return find(entry -> entry.action.equals(RULES_CHANGED), most, null, new ArrayList<>());
  }

  /** The newest entries that contain a text, at most so many. */
  private CompletionStage<List<Entry>> find(String wanted, int most, @Nullable String before) {
    return find(
        entry -> wanted.isEmpty() || entry.contains(wanted), most, before, new ArrayList<>());
  }

  private CompletionStage<List<Entry>> find(
      Predicate<Entry> wanted, int most, @Nullable String before, List<Entry> found) {
    return data.newest(TRAIL, PAGE, before)
        .thenCompose(
            page -> {
              page.stream()
                  .map(Entry::read)
                  .flatMap(Optional::stream)
                  .filter(wanted)
                  .limit(most - (long) found.size())
                  .forEach(found::add);
              return page.size() < PAGE || found.size() >= most
                  ? CompletableFuture.completedFuture(found)
                  : find(wanted, most, page.get(page.size() - 1).id(), found);
            });
  }
}
