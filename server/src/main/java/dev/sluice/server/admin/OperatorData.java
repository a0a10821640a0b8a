package dev.sluice.server.admin;

import com.linecorp.armeria.common.CommonPools;
import dev.sluice.store.SharedData;
import dev.sluice.store.Store;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/** The shared data of a store for what operators ask. Thread-safe. */
public final class OperatorData implements SharedData {
  /*
   * A store on Redis completes all its stages on one thread, and overrides reach this node on it. A
   * page of the console can look through thousands of entries. So what follows an answer runs on
   * the threads for blocking tasks, and the thread of the store only hands it over.
   */
  private final SharedData data;
  private final Executor executor;

  OperatorData(SharedData data, Executor executor) {
    this.data = data;
    this.executor = executor;
  }

  /** The shared data of a store. */
  public static SharedData of(Store store) {
    return new OperatorData(store.sharedData(), CommonPools.blockingTaskExecutor());
  }

  private <T> CompletionStage<T> aside(CompletionStage<T> answer) {
    return answer.toCompletableFuture().isDone()
        ? answer
        : answer.whenCompleteAsync((value, error) -> {}, executor);
  }

  @Override
  public CompletionStage<Optional<String>> get(String name) {
    return aside(data.get(name));
  }

  @Override
  public CompletionStage<Void> put(String name, String value, Duration ttl) {
    return aside(data.put(name, value, ttl));
  }

  @Override
  public CompletionStage<Boolean> remove(String name) {
    return aside(data.remove(name));
  }

  @Override
  public CompletionStage<Boolean> lease(String name, String owner, Duration ttl) {
    return aside(data.lease(name, owner, ttl));
  }

  @Override
  public CompletionStage<Boolean> putEntry(String map, String key, String value, int most) {
    return aside(data.putEntry(map, key, value, most));
  }

  @Override
  public CompletionStage<Boolean> removeEntry(String map, String key) {
    return aside(data.removeEntry(map, key));
  }

  @Override
  public CompletionStage<Entries> entries(String map) {
    return aside(data.entries(map));
  }

  @Override
  public CompletionStage<Boolean> putBack(String map, Entries entries) {
    return aside(data.putBack(map, entries));
  }

  @Override
  public CompletionStage<Long> version(String map) {
    return aside(data.version(map));
  }

  @Override
  public CompletionStage<Boolean> announce(
      String group, String member, String value, Duration ttl) {
    return aside(data.announce(group, member, value, ttl));
  }

  @Override
  public CompletionStage<Map<String, String>> members(String group) {
    return aside(data.members(group));
  }

  @Override
  public CompletionStage<Void> append(String log, List<String> texts, int most, Duration ttl) {
    return aside(data.append(log, texts, most, ttl));
  }

  @Override
  public CompletionStage<List<Entry>> newest(String log, int limit, @Nullable String before) {
    return aside(data.newest(log, limit, before));
  }
}
