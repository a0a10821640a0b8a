package dev.sluice.internal;

import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** A future of what is passed to it: a result, or an error. */
public class Answer<T> extends CompletableFuture<T>
    implements BiConsumer<@Nullable T, @Nullable Throwable> {
  @Override
  public void accept(@Nullable T result, @Nullable Throwable error) {
    if (error == null) {
      complete(result);
    } else {
      completeExceptionally(error);
    }
  }
}
