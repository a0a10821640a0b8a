package dev.sluice.server.commands;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.sluice.LockPage;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code ./sluice locks list|set|lift}: the locks of a running service. */
@Command(
    name = "locks",
    description = "Lists, sets and lifts locks of a running service.",
    synopsisSubcommandLabel = "(list | set | lift)",
    mixinStandardHelpOptions = true)
final class LocksCommand {
  @Spec private CommandSpec spec = CommandSpec.create();

  @Command(
      name = "list",
      description = "Lists locked identities, until when and why.",
      mixinStandardHelpOptions = true,
      defaultValueProvider = FromEnvironment.class)
  int list(
      @Mixin Remote remote,
      @Option(names = "--rule", description = "only locks of this rule") @Nullable String rule,
      @Option(
              names = "--limit",
              paramLabel = "N",
              defaultValue = "1000",
              description = "print at most this many (default: ${DEFAULT-VALUE})")
          int limit,
      @Option(names = "--all", description = "print all locks") boolean all,
      @Option(
              names = "--after",
              paramLabel = "TEXT",
              description = "continue a list from where it ended")
          @Nullable String after)
      throws IOException {
    if (limit < 1) {
      throw new Remote.Refused(List.of("limit: " + limit + " (expected: at least 1)"), null);
    }
    return new Listing(remote, rule, all ? Long.MAX_VALUE : limit, after).print();
  }

  /** Fetches page after page, until the limit is reached or no locks are left. */
  private final class Listing {
    private final Remote remote;
    private final @Nullable String rule;
    private final long most;
    private @Nullable String next;
    private long shown;

    Listing(Remote remote, @Nullable String rule, long most, @Nullable String after) {
      this.remote = remote;
      this.rule = rule;
      this.most = most;
      this.next = after;
    }

    int print() throws IOException {
      ObjectNode whole = Remote.MAPPER.createObjectNode();
      ArrayNode locks = whole.putArray("locks");
      long total;
      do {
        JsonNode page = remote.send("GET", path(), null);
        total = page.path("total").asLong();
        next = page.path("next").asText(null);
        if (remote.wantsJson()) {
          page.path("locks").forEach(locks::add);
        } else {
          printPage(page.path("locks"));
        }
        shown += page.path("locks").size();
        progress(total);
      } while (next != null && shown < most);
      if (remote.wantsJson()) {
        out().println(whole.put("total", total).put("next", next).toPrettyString());
      } else if (next != null) {
        out().printf("%,d of %,d locks; for more: --all, or --after %s%n", shown, total, next);
      }
      out().flush();
      return 0;
    }

    private String path() {
      long wanted = Math.min(most - shown, LockPage.LARGEST);
      return "/v1/locks?limit="
          + wanted
          + (rule == null ? "" : "&rule=" + Remote.encoded(rule))
          + (next == null ? "" : "&after=" + Remote.encoded(next));
    }

    private void printPage(JsonNode locks) {
      if (locks.isEmpty() && shown == 0) {
        out().println("nobody is locked");
      } else {
        table(locks, shown == 0).print(out());
      }
    }

    /** On stderr, so that the list can go into a file. */
    private void progress(long total) {
      if (next != null && shown < most) {
        PrintWriter err = spec.commandLine().getErr();
        err.printf("%,d of %,d%n", shown, total);
        err.flush();
      }
    }
  }

  @Command(
      name = "set",
      description = "Locks an identity out of a rule.",
      mixinStandardHelpOptions = true,
      defaultValueProvider = FromEnvironment.class)
  int set(
      @Mixin Remote remote,
      @Mixin RuleAndIdentity which,
      @Option(
              names = "--for",
              required = true,
              paramLabel = "DURATION",
              description = "such as 30m")
          String duration,
      @Option(names = "--reason", description = "shown when locks are listed")
          @Nullable String reason)
      throws IOException {
    ObjectNode body = Remote.MAPPER.createObjectNode().put("duration", duration);
    if (reason != null) {
      body.put("reason", reason);
    }
    return print(remote, remote.send("PUT", which.path("/v1/locks"), body));
  }

  @Command(
      name = "lift",
      description =
          "Ends the lock of an identity and forgets the usage that led to it. Exit code 3 if there was no lock.",
      mixinStandardHelpOptions = true,
      defaultValueProvider = FromEnvironment.class)
  int lift(
      @Mixin Remote remote,
      @Mixin RuleAndIdentity which,
      @Option(
              names = "--keep-usage",
              description =
                  "end the lock only; the usage stays, and earlier locks still count towards the next")
          boolean keepUsage)
      throws IOException {
    String path = which.path("/v1/locks");
    if (keepUsage) {
      path += (path.indexOf('?') < 0 ? "?" : "&") + "keepUsage=true";
    }
    JsonNode answer = remote.send("DELETE", path, null);
    boolean lifted = answer.path("lifted").asBoolean();
    if (remote.wantsJson()) {
      out().println(answer.toPrettyString());
    } else {
      out().println(answer.path("detail").asText());
      if (!answer.path("allowed").asBoolean()) {
        out().println("(accounts reset would let the next call pass)");
      }
    }
    out().flush();
    return lifted ? 0 : 3;
  }

  private int print(Remote remote, JsonNode answer) {
    if (remote.wantsJson()) {
      out().println(answer.toPrettyString());
    } else {
      table(answer.path("locks"), true).print(out());
    }
    out().flush();
    return 0;
  }

  private static Table table(JsonNode locks, boolean titled) {
    Table table = titled ? new Table("RULE", "IDENTITY", "UNTIL", "REASON") : new Table();
    for (JsonNode lock : locks) {
      table.row(
          lock.path("rule").asText(),
          BalanceTable.identity(lock),
          lock.path("until").asText(),
          lock.path("reason").asText());
    }
    return table;
  }

  private PrintWriter out() {
    return spec.commandLine().getOut();
  }
}
