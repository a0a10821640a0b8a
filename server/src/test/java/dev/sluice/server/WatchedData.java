package dev.sluice.server;

import dev.sluice.store.SharedData;
import dev.sluice.store.StoreException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;

/** Shared data that answers when, how and on which thread a test says. */
public final class WatchedData {
  private final SharedData data;
  private final Executor answers;
  private final List<Runnable> held = new ArrayList<>();
  private final Set<String> askedBy = ConcurrentHashMap.newKeySet();
  private boolean off;
  private boolean holds;

  /**
   * Watches shared data.
   *
   * @param answers completes the stages
   */
  public WatchedData(SharedData data, Executor answers) {
    this.data = data;
    this.answers = answers;
  }

  /** The data to use. */
  public SharedData data() {
    return (SharedData)
        Proxy.newProxyInstance(
            SharedData.class.getClassLoader(),
            new Class<?>[] {SharedData.class},
            (proxy, method, arguments) -> {
              try {
                askedBy.add(method.getName() + " on " + Thread.currentThread().getName());
                return off
                    ? failed()
                    : answered((CompletionStage<?>) method.invoke(data, arguments));
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  private static CompletionStage<?> failed() {
    return CompletableFuture.failedFuture(
        new StoreException("timeout", true, "Redis gave no answer", null));
  }

  private <T> CompletionStage<T> answered(CompletionStage<T> stage) {
    CompletableFuture<T> answer = new CompletableFuture<>();
    Runnable complete =
        () -> answers.execute(() -> answer.complete(stage.toCompletableFuture().join()));
    if (holds) {
      held.add(complete);
    } else {
      complete.run();
    }
    return answer;
  }

  /** Fails from now on. */
  public void off() {
    off = true;
  }

  /** Carries out what it is asked, but does not answer from now on. */
  public void hold() {
    holds = true;
  }

  /** Answers from now on, first what was held back. */
  public void on() {
    off = false;
    holds = false;
    held.forEach(Runnable::run);
    held.clear();
  }

  /** What was asked, and the names of the threads that asked. */
  public Set<String> askedBy() {
    return askedBy;
  }
}
