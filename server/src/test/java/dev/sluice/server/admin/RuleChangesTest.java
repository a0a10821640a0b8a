package dev.sluice.server.admin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.memory.MemoryStore;
import dev.sluice.rules.RuleFiles;
import dev.sluice.rules.RuleVersion;
import dev.sluice.rules.Until;
import dev.sluice.server.WatchedData;
import dev.sluice.store.SharedData;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Every change of the rules is in the audit trail, also one by a restart. */
class RuleChangesTest {
  private static final String FIRST =
      "rules: {Api: {by: [login], limit: 5 per 1h}, Search: {by: [login], limit: 2 per 1h}}";
  private static final String SECOND =
      "rules: {Api: {by: [login], limit: 6 per 1h}, New: {by: [login], limit: 1 per 1h}}";

  private final WatchedData data =
      new WatchedData(MemoryStore.create().sharedData(), Runnable::run);
  private final SharedData shared = data.data();
  private final Audit audit = new Audit(shared);

  /** Rules that a test replaces. */
  private static final class Source implements RuleSource {
    private Rules rules;

    Source(String text) {
      become(text);
    }

    void become(String text) {
      rules = RuleFiles.parse("rules.yaml", text);
    }

    @Override
    public Rules rules() {
      return rules;
    }

    @Override
    public Optional<Failure> failure() {
      return Optional.empty();
    }
  }

  /** A service that has just started. */
  private RuleChanges node(RuleSource source) throws Exception {
    RuleChanges changes = RuleChanges.idle(source, "rules.yaml", audit, shared);
    changes.look();
    return changes;
  }

  private List<String> noted() {
    return audit.changesOfRules(100).toCompletableFuture().join().stream()
        .map(entry -> entry.who() + ": " + entry.before() + " -> " + entry.after())
        .toList();
  }

  @Test
  void theFirstStartIsNoChange() throws Exception {
    node(new Source(FIRST));

    assertThat(noted()).isEmpty();
  }

  @Test
  void aChangeWhileTheServiceRunsIsNoted() throws Exception {
    Source source = new Source(FIRST);
    RuleChanges changes = node(source);
    changes.look();
    source.become(SECOND);

    changes.look();
    changes.look();

    assertThat(noted())
        .containsExactly("rules.yaml: 2 rules -> 2 rules: Api changed, New added, Search removed");
  }

  @Test
  void aChangeByARestartIsNotedOnceHoweverManyNodesStart() throws Exception {
    node(new Source(FIRST));
    node(new Source(FIRST));

    for (int i = 0; i < 3; i++) {
      node(new Source(SECOND));
    }

    assertThat(noted())
        .containsExactly("rules.yaml: 2 rules -> 2 rules: Api changed, New added, Search removed");
  }

  @Test
  void anotherSourceIsNotComparedWithThisOne() throws Exception {
    node(new Source(FIRST));

    RuleChanges.idle(new Source(SECOND), "other.yaml", audit, shared).look();

    assertThat(noted()).isEmpty();
  }

  @Test
  void aChangeOfTheFacetsIsNoted() throws Exception {
    node(new Source("facets: {login: caller}\n" + FIRST));

    node(new Source("facets: {login: {header: X-Login}}\n" + FIRST));

    assertThat(noted()).containsExactly("rules.yaml: 2 rules -> 2 rules: facets changed");
  }

  @Test
  void aChangeDuringAnOutageIsNotedWhenTheStoreAnswersAgain() throws Exception {
    Source source = new Source(FIRST);
    RuleChanges changes = node(source);
    data.off();
    source.become(SECOND);
    assertThatThrownBy(changes::look).hasMessageContaining("no answer");

    data.on();
    changes.look();

    assertThat(noted()).hasSize(1);
  }

  @Test
  void aChangeAfterTheStoreLostItsDataIsNoted() throws Exception {
    Source source = new Source(FIRST);
    RuleChanges changes = node(source);
    String key = "rules:" + AdminToken.sha256("rules.yaml").substring(0, 16);
    assertThat(shared.remove(key).toCompletableFuture().join()).isTrue();
    source.become(SECOND);

    changes.look();

    assertThat(noted())
        .containsExactly("rules.yaml: 2 rules -> 2 rules: Api changed, New added, Search removed");
  }

  @Test
  void manyRulesAreNotedWithoutTheirNames() throws Exception {
    StringBuilder many = new StringBuilder("rules:\n");
    for (int i = 0; i < 3_000; i++) {
      many.append("  %s%04d: {by: [login], limit: 5 per 1h}\n".formatted("R".repeat(90), i));
    }
    node(new Source(many.toString()));

    node(new Source(FIRST));

    assertThat(noted()).containsExactly("rules.yaml: 3,000 rules -> 2 rules");
  }

  @Test
  void whateverIsInThePlaceOfTheVersionIsReplaced() throws Exception {
    node(new Source(FIRST));
    String key = "rules:" + AdminToken.sha256("rules.yaml").substring(0, 16);
    for (String damaged :
        List.of("", "x", "a b c", "a b -1", "\n\n", "a b 2\nApi", "a b 9999999999")) {
      shared.put(key, damaged, Duration.ofHours(1));

      node(new Source(FIRST));

      assertThat(shared.get(key).toCompletableFuture().join().orElse(""))
          .endsWith("Search " + hash());
    }
  }

  private static String hash() {
    return RuleVersion.of(new Source(FIRST).rules()).rules().getOrDefault("Search", "");
  }

  @Test
  void aSourceThatThrowsOnceIsLookedAtAgain() {
    AtomicInteger looks = new AtomicInteger();
    Source source = new Source(FIRST);
    RuleSource failing =
        new RuleSource() {
          @Override
          public Rules rules() {
            if (looks.incrementAndGet() == 1) {
              throw new IllegalStateException("not now");
            }
            return source.rules();
          }

          @Override
          public Optional<Failure> failure() {
            return Optional.empty();
          }
        };

    RuleChanges changes = RuleChanges.follow(failing, "rules.yaml", audit, shared);
    try {
      Until.within(Duration.ofSeconds(10), "a second look", () -> looks.get() >= 2);
    } finally {
      changes.close();
    }
  }

  /** An operator can write those words as the reason of a lock. */
  @Test
  void aChangeOfAnotherKindWithTheSameWordsIsNone() {
    String reason = "admin lock%20set Api login%3Dann free locked:%20rules%20changed";
    shared.append("audit", List.of(reason), 100, Duration.ofHours(1));

    assertThat(noted()).isEmpty();
  }
}
