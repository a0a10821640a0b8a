package dev.sluice.server.api;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.sluice.Balance;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Settled;
import dev.sluice.internal.Durations;
import dev.sluice.metrics.Metrics;
import java.io.IOException;
import java.time.Instant;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** Decisions and balances as JSON. */
public final class DecisionJson {
  /** The texts of limits that were shown; putting one together costs as much as the decision. */
  private static final Map<Limit, String> TEXTS = new ConcurrentHashMap<>();

  private static final int MOST_TEXTS = 10_000;

  private DecisionJson() {}

  private static String text(Limit limit) {
    String known = TEXTS.get(limit);
    if (known != null) {
      return known;
    }
    if (TEXTS.size() >= MOST_TEXTS) {
      TEXTS.clear();
    }
    String text = limit.toString();
    TEXTS.put(limit, text);
    return text;
  }

  static void write(JsonGenerator json, Decision decision, @Nullable String receipt)
      throws IOException {
    json.writeBooleanField("allowed", decision.allowed());
    json.writeStringField("outcome", Metrics.outcome(decision));
    json.writeStringField("countedBy", text(decision.countedBy()));
    Optional<Balance> deciding = decision.deciding();
    if (deciding.isPresent()) {
      Balance balance = deciding.get();
      json.writeStringField("rule", balance.account().rule());
      json.writeStringField("limit", text(balance.limit()));
      writeNumbers(json, balance);
    } else {
      json.writeNullField("rule");
      json.writeNullField("limit");
      json.writeNullField("remaining");
      if (decision.allowed()) {
        json.writeNumberField("retryAfterMs", 0);
      } else {
        json.writeNullField("retryAfterMs"); // nobody knows when the store will answer again
      }
      json.writeNullField("resetAfterMs");
    }
    json.writeBooleanField("locked", decision.locked());
    writeUntil(json, decision.restrictedUntil());
    writeBalances(json, decision);
    json.writeArrayFieldStart("shadowDenials");
    for (String rule : decision.shadowDenials()) {
      json.writeString(rule);
    }
    json.writeEndArray();
    if (decision instanceof Decision.Unmetered unmetered) {
      json.writeStringField("reason", unmetered.reason());
    }
    json.writeStringField("receipt", receipt);
  }

  static String text(Decision.CountedBy by) {
    return by.name().toLowerCase(Locale.ROOT);
  }

  public static void writeBalances(JsonGenerator json, Decision decision) throws IOException {
    json.writeArrayFieldStart("balances");
    for (Balance balance : decision.balances()) {
      json.writeStartObject();
      json.writeStringField("rule", balance.account().rule());
      writeIdentity(json, balance.account().identity());
      json.writeStringField("limit", text(balance.limit()));
      json.writeNumberField("quota", balance.limit().quota());
      writeNumbers(json, balance);
      json.writeBooleanField("locked", balance.locked());
      writeUntil(json, balance.lockedUntil());
      json.writeBooleanField("enforced", balance.enforced());
      writeUncharged(json, balance.uncharged());
      json.writeEndObject();
    }
    json.writeEndArray();
  }

  /** What could not be charged; there only if that is anything. */
  static void writeUncharged(JsonGenerator json, long uncharged) throws IOException {
    if (uncharged != 0) {
      json.writeNumberField("uncharged", uncharged);
    }
  }

  /** What a settlement could not charge, in all and by rule; there only if that is anything. */
  static void writeUncharged(JsonGenerator json, Settled settled) throws IOException {
    writeUncharged(json, settled.uncharged());
    if (settled.uncharged() != 0) {
      json.writeObjectFieldStart("unchargedBy");
      for (Map.Entry<String, Long> rule : new TreeMap<>(settled.unchargedBy()).entrySet()) {
        json.writeNumberField(rule.getKey(), rule.getValue());
      }
      json.writeEndObject();
    }
  }

  /** The facets one by one, and the canonical text that names the same identity in a query. */
  public static void writeIdentity(JsonGenerator json, Identity identity) throws IOException {
    json.writeObjectFieldStart("identity");
    for (Map.Entry<String, String> facet : identity.facets().entrySet()) {
      json.writeStringField(facet.getKey(), shown(facet.getValue()));
    }
    json.writeEndObject();
    json.writeStringField("account", identity.toString());
  }

  /** A hash is kept behind a control character, which is nothing to show. */
  public static String shown(String value) {
    return value.startsWith("\u0002") ? "sha256:" + value.substring(1) : value;
  }

  private static void writeNumbers(JsonGenerator json, Balance balance) throws IOException {
    json.writeNumberField("remaining", balance.remaining());
    if (balance.retryAfterMicros() == Balance.NEVER) {
      json.writeNullField("retryAfterMs");
    } else {
      json.writeNumberField("retryAfterMs", Durations.ceilMillis(balance.retryAfterMicros()));
    }
    json.writeNumberField("resetAfterMs", Durations.ceilMillis(balance.resetAfterMicros()));
  }

  private static void writeUntil(JsonGenerator json, Optional<Instant> until) throws IOException {
    if (until.isPresent()) {
      json.writeNumberField("restrictedUntil", until.get().toEpochMilli());
    } else {
      json.writeNullField("restrictedUntil");
    }
  }
}
