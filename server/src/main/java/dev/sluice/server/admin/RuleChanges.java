package dev.sluice.server.admin;

import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.internal.Daemon;
import dev.sluice.rules.RuleVersion;
import dev.sluice.store.SharedData;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Writes to the audit trail when other rules come into force, also by a restart. */
public final class RuleChanges implements AutoCloseable {
  /*
   * The shared data has the version of the rules that were last noted for a source. A service
   * compares its rules with that at its start and after each change. So a change by a deployment is
   * noted, and of several services that follow one file usually only one notes a change. Two that
   * look at the same moment both do.
   *
   * While the store does not answer, nothing is compared: the change is noted when it does.
   */
  private static final Logger LOG = LoggerFactory.getLogger(RuleChanges.class);
  private static final Duration PAUSE = Duration.ofSeconds(1);
  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final int MOST_NAMES = 20;
  private static final int SOURCE_DIGITS = 16;

  private final RuleSource source;
  private final String name;
  private final Audit audit;
  private final SharedData data;
  private final ScheduledExecutorService thread = Daemon.scheduled("sluice-rule-changes");
  private @Nullable Rules noted;
  private Optional<Noted> last = Optional.empty();

  private RuleChanges(RuleSource source, String name, Audit audit, SharedData data) {
    this.source = source;
    this.name = name;
    this.audit = audit;
    this.data = data;
  }

  /**
   * Starts to look for changes.
   *
   * @param name where the rules come from, for the trail
   */
  public static RuleChanges follow(RuleSource source, String name, Audit audit, SharedData data) {
    RuleChanges changes = idle(source, name, audit, data);
    ScheduledFuture<?> unused =
        changes.thread.scheduleWithFixedDelay(
            changes::tryToLook, 0, PAUSE.toMillis(), TimeUnit.MILLISECONDS);
    return changes;
  }

  /** One that looks only when a test says so. */
  static RuleChanges idle(RuleSource source, String name, Audit audit, SharedData data) {
    return new RuleChanges(source, name, audit, data);
  }

  /** An exception would end the schedule for ever. */
  private void tryToLook() {
    try {
      look();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (Exception e) {
      LOG.debug("Could not note changes of the rules", e);
    }
  }

  @SuppressWarnings("ReferenceEquality") // a source returns the same object until its rules change
  void look() throws Exception {
    Rules rules = source.rules();
    if (rules == noted) {
      return;
    }
    Noted now = Noted.of(RuleVersion.of(rules));
    // A store that lost its data is no reason to lose a change that this service has seen.
    Optional<Noted> before = await(data.get(key())).flatMap(Noted::read).or(() -> last);
    if (before.isPresent() && !before.get().version.equals(now.version)) {
      await(audit.rulesChanged(name, inWords(before.get().size), now.changesSince(before.get())));
    }
    await(data.put(key(), now.toString(), Audit.TTL));
    noted = rules;
    last = Optional.of(now);
  }

  private String key() {
    return "rules:" + AdminToken.sha256(name).substring(0, SOURCE_DIGITS);
  }

  private static <T> T await(CompletionStage<T> stage) throws Exception {
    return stage.toCompletableFuture().get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
  }

  private static String inWords(int rules) {
    return rules == 1 ? "1 rule" : "%,d rules".formatted(rules);
  }

  /**
   * Rules as the shared data remembers them: a line for all, and one for each rule.
   *
   * @param rules the hashes by name; empty if there are too many to be remembered
   */
  private record Noted(String version, String facets, int size, Map<String, String> rules) {
    static Noted of(RuleVersion of) {
      return new Noted(of.version(), of.facets(), of.rules().size(), of.rules());
    }

    static Optional<Noted> read(String text) {
      String[] lines = text.split("\n", -1);
      String[] first = lines[0].split(" ", -1);
      if (first.length != 3 || !first[2].matches("\\d{1,9}")) {
        return Optional.empty();
      }
      Map<String, String> rules = new LinkedHashMap<>();
      for (int i = 1; i < lines.length; i++) {
        String[] words = lines[i].split(" ", -1);
        if (words.length == 2) {
          rules.put(words[0], words[1]);
        }
      }
      return Optional.of(new Noted(first[0], first[1], Integer.parseInt(first[2]), rules));
    }

    @Override
    public String toString() {
      String first = "%s %s %d".formatted(version, facets, size);
      String all =
          rules.entrySet().stream()
              .map(rule -> "\n" + rule.getKey() + ' ' + rule.getValue())
              .collect(Collectors.joining("", first, ""));
      return all.length() <= SharedData.LONGEST_VALUE ? all : first;
    }

    String changesSince(Noted before) {
      if (before.rules.size() < before.size) {
        return inWords(size);
      }
      List<String> changes = new ArrayList<>();
      if (!facets.equals(before.facets)) {
        changes.add("facets changed");
      }
      rules.forEach(
          (rule, hash) -> {
            String old = before.rules.get(rule);
            if (old == null) {
              changes.add(rule + " added");
            } else if (!old.equals(hash)) {
              changes.add(rule + " changed");
            }
          });
      before.rules.keySet().stream()
          .filter(rule -> !rules.containsKey(rule))
          .forEach(rule -> changes.add(rule + " removed"));
      String shown = String.join(", ", changes.subList(0, Math.min(MOST_NAMES, changes.size())));
      int more = changes.size() - MOST_NAMES;
      return "%s: %s%s"
          .formatted(inWords(size), shown, more > 0 ? " and %,d more".formatted(more) : "");
    }
  }

  @Override
  public void close() {
    thread.shutdownNow();
  }
}
