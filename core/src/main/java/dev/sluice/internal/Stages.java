package dev.sluice.internal;

import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** Waits for stages and unwraps their errors. */
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

  /** Passes on the result of a stage, or its error without wrappers. */
  public static <T> void pass(
      CompletionStage<T> stage, BiConsumer<@Nullable T, @Nullable Throwable> then) {
    CompletionStage<T> unused =
        stage.whenComplete(
            (result, error) -> then.accept(result, error == null ? null : cause(error)));
  }

  /** The cause of an error, without the wrappers that stages add. */
  public static Throwable cause(Throwable error) {
    Throwable found = error;
    while (found instanceof CompletionException && found.getCause() != null) {
      found = found.getCause();
    }
    return found;
  }
}
