package dev.sluice.traffic;

import dev.sluice.Call;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Rule;
import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.memory.MemoryStore;
import dev.sluice.store.Store;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;

/** A node that decides in memory, and reports to a store when a test says so. */
final class TestNode {
  static final Rules RULES =
      Rules.of(
          Rule.builder("api").by("login").limit(Limit.fixedWindow(3, Duration.ofDays(1))).build(),
          Rule.builder("new")
              .by("login")
              .limit(Limit.fixedWindow(1, Duration.ofDays(1)))
              .shadow()
              .build());

  final Traffic traffic;
  final Reporter reporter;
  private final Limiter limiter;

  TestNode(String id, MemoryStore store, InstantSource clock) {
    this(id, store, store, clock, RULES);
  }

  /** Reports to another store than it decides by. */
  TestNode(String id, MemoryStore store, Store reports, InstantSource clock, Rules rules) {
    traffic = new Traffic(id, clock);
    reporter = Reporter.idle(traffic, reports, clock);
    RuleSource source = RuleSource.fixed(rules);
    reporter.rules(source);
    limiter = Limiter.builder(store, source).listener(traffic).build();
  }

  /** Calls by both rules. */
  void calls(int times, String login) {
    for (int i = 0; i < times; i++) {
      limiter.decide(Call.of(List.of("api", "new"), Identity.of("login", login)));
    }
  }

  void call(String rule, String login) {
    limiter.decide(rule, Identity.of("login", login));
  }

  /** Has nodes report, and a collector read that. */
  static void share(Collector collector, TestNode... nodes) {
    for (TestNode node : nodes) {
      node.reporter.share();
    }
    collector.look();
  }
}
