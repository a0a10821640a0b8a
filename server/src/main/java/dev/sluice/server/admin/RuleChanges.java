package dev.sluice.server.admin;

import dev.sluice.Rule;
import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.internal.Daemon;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;

/** Writes to the audit trail when other rules come into force. */
public final class RuleChanges implements AutoCloseable {
  private static final Duration PAUSE = Duration.ofSeconds(1);
  private static final int MOST_NAMES = 20;

  private final RuleSource source;
  private final String name;
  private final Audit audit;
  private final ScheduledExecutorService thread = Daemon.scheduled("sluice-rule-changes");
  private Rules last;

  private RuleChanges(RuleSource source, String name, Audit audit) {
    this.source = source;
    this.name = name;
    this.audit = audit;
    this.last = source.rules();
  }

  /**
   * Starts to look for changes.
   *
   * @param name where the rules come from, for the trail
   */
  public static RuleChanges follow(RuleSource source, String name, Audit audit) {
    RuleChanges changes = new RuleChanges(source, name, audit);
    ScheduledFuture<?> unused =
        changes.thread.scheduleWithFixedDelay(
            changes::look, PAUSE.toMillis(), PAUSE.toMillis(), TimeUnit.MILLISECONDS);
    return changes;
  }

  @SuppressWarnings("ReferenceEquality") // a source returns the same object until its rules change
  private void look() {
    Rules now = source.rules();
    if (now != last) {
      Rules before = last;
      last = now;
      List<String> changed = changes(before, now);
      if (!changed.isEmpty()) {
        audit.rulesChanged(
            name, "%,d rules".formatted(before.size()), inWords(changed, now.size()));
      }
    }
  }

  private static List<String> changes(Rules before, Rules now) {
    List<String> changes = new ArrayList<>();
    for (Rule rule : now.all()) {
      Rule old = before.find(rule.name());
      if (old == null) {
        changes.add(rule.name() + " added");
      } else if (!old.equals(rule)) {
        changes.add(rule.name() + " changed");
      }
    }
    for (Rule rule : before.all()) {
      if (now.find(rule.name()) == null) {
        changes.add(rule.name() + " removed");
      }
    }
    return changes;
  }

  private static String inWords(List<String> changes, int size) {
    String shown = String.join(", ", changes.subList(0, Math.min(MOST_NAMES, changes.size())));
    int more = changes.size() - MOST_NAMES;
    return "%,d rules: %s%s"
        .formatted(size, shown, more > 0 ? " and %,d more".formatted(more) : "");
  }

  @Override
  public void close() {
    thread.shutdownNow();
  }
}
