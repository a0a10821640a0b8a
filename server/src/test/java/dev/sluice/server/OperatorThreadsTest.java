package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Decision;
import dev.sluice.memory.MemoryStore;
import dev.sluice.store.ForwardingStore;
import dev.sluice.store.Plan;
import dev.sluice.store.SharedData;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What operators ask holds up neither decisions nor what nodes share. */
class OperatorThreadsTest {
  private static final String ANSWERS = "answers-of-the-store";

  private final ExecutorService answers =
      Executors.newSingleThreadExecutor(work -> new Thread(work, ANSWERS));
  private final StoreOnOneThread store = new StoreOnOneThread(answers);

  /** A store whose shared data answers on one thread, as that on Redis does. */
  private static final class StoreOnOneThread extends ForwardingStore {
    private final WatchedData watched;

    StoreOnOneThread(ExecutorService answers) {
      super(MemoryStore.create());
      this.watched = new WatchedData(store.sharedData(), answers);
    }

    @Override
    public CompletionStage<Decision> take(Plan plan) {
      return store.take(plan);
    }

    @Override
    public SharedData sharedData() {
      return watched.data();
    }
  }

  @AfterEach
  void stop() {
    answers.shutdownNow();
  }

  /** Each request reads shared data, and the trail has three pages: so continuations do, too. */
  @Test
  void requestsOfOperatorsRunOnThreadsOfTheirOwn() {
    List<String> changes = Collections.nCopies(2_500, "admin lock%20set Api login%3Dann a b");
    store.sharedData().append("audit", changes, 10_000, Duration.ofHours(1));
    try (Sluice sluice = Sluice.start(store)) {
      ConsoleSession console = ConsoleSession.begin(sluice, Sluice.TOKEN);
      store.watched.askedBy().clear();

      for (String path :
          List.of(
              "clients",
              "client?identity=login%3Dann",
              "overrides",
              "rules",
              "audit?q=nobody",
              "audit/export?format=csv")) {
        assertThat(console.get(path).status()).as(path).isEqualTo(200);
      }
      for (String path : List.of("/v1/audit?q=nobody", "/v1/overrides")) {
        assertThat(sluice.send(sluice.admin("GET", path)).status()).as(path).isEqualTo(200);
      }

      assertThat(store.watched.askedBy())
          .filteredOn(asked -> asked.startsWith("newest on ") || asked.startsWith("members on "))
          .isNotEmpty()
          .noneMatch(asked -> asked.contains(ANSWERS) || asked.contains("worker"));
    }
  }
}
