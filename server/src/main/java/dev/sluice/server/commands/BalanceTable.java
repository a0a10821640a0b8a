package dev.sluice.server.commands;

import com.fasterxml.jackson.databind.JsonNode;
import dev.sluice.internal.Durations;
import java.io.PrintWriter;
import java.time.Duration;
import java.time.Instant;

/** Prints the balances of a JSON answer as a table. */
final class BalanceTable {
  private BalanceTable() {}

  static void print(JsonNode answer, PrintWriter out) {
    Table table = new Table("RULE", "IDENTITY", "LIMIT", "LEFT", "WAIT", "BACK IN", "LOCKED UNTIL");
    for (JsonNode balance : answer.path("balances")) {
      table.row(
          balance.path("rule").asText() + (balance.path("enforced").asBoolean() ? "" : " (shadow)"),
          identity(balance),
          balance.path("limit").asText(),
          balance.path("remaining").asText(),
          span(balance.path("retryAfterMs")),
          span(balance.path("resetAfterMs")),
          until(balance.path("restrictedUntil")));
    }
    table.print(out);
  }

  /** The identity, quoted for the shell, so that it can be pasted into another command. */
  static String identity(JsonNode account) {
    String text = account.path("account").asText();
    return text.contains("&") ? "'" + text + "'" : text;
  }

  /** A duration such as 29m50s; over a minute it is rounded up to whole seconds. */
  static String span(JsonNode millis) {
    if (millis.isNull()) {
      return "never";
    }
    long given = millis.asLong();
    long shown = given > 60_000 ? (given + 999) / 1_000 * 1_000 : given;
    return shown == 0 ? "-" : Durations.format(Duration.ofMillis(shown));
  }

  static String until(JsonNode millis) {
    return millis.isNull() ? "-" : Instant.ofEpochMilli(millis.asLong()).toString();
  }
}
