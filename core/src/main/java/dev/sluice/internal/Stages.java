package dev.sluice.internal;

import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;

/** Waiting for stages, and what their errors really are. */
public final class Stages {
  private Stages() {}

  /** Waits for a result. An unchecked exception is thrown as it is, without a wrapper. */
  public static <T> T await(CompletionStage<T> stage) {
    try {
      return stage.toCompletableFuture().join();
    } catch (CompletionException e) {
      throw cause(e) instanceof RuntimeException unchecked ? unchecked : e;
    }
  }

  /** What went wrong, without the exceptions that stages wrap around it. */
  public static Throwable cause(Throwable error) {
    Throwable found = error;
    while (found instanceof CompletionException && found.getCause() != null) {
      found = found.getCause();
    }
    return found;
  }
}
