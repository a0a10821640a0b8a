package dev.sluice.redis;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Runs scripts: by their digest, and by their text where Redis does not know them. */
final class Link {
  private final Supplier<RedisClusterAsyncCommands<String, String>> connection;

  Link(Supplier<RedisClusterAsyncCommands<String, String>> connection) {
    this.connection = connection;
  }

  /**
   * Runs a script and hands on its reply, or what went wrong. The stage is done once Redis has
   * answered; a script that it did not know may then still be on its way.
   */
  CompletionStage<?> run(
      Batch.ScriptCall call, BiConsumer<@Nullable List<Object>, @Nullable Throwable> then) {
    RedisClusterAsyncCommands<String, String> commands = connection.get();
    CompletionStage<List<Object>> first =
        commands.evalsha(
            call.script().digest(), ScriptOutputType.MULTI, call.keys(), call.arguments());
    if (call.operations().size() == 1) {
      // What was given up before the client had a connection to write it to is not written later.
      CompletableFuture<?> answer = call.operations().get(0).answer;
      CompletionStage<?> unused =
          answer.whenComplete(
              (value, gaveUp) -> {
                if (gaveUp != null) {
                  first.toCompletableFuture().cancel(false);
                }
              });
    }
    return first.handle(
        (replies, error) -> {
          boolean givenUp =
              call.operations().stream().allMatch(operation -> operation.answer.isDone());
          if (isFault(error, "NOSCRIPT") && !givenUp) {
            runText(commands, call).whenComplete(then);
          } else {
            then.accept(replies, error);
          }
          return null;
        });
  }

  private static CompletionStage<List<Object>> runText(
      RedisClusterAsyncCommands<String, String> commands, Batch.ScriptCall call) {
    try {
      return commands.eval(
          call.script().text(), ScriptOutputType.MULTI, call.keys(), call.arguments());
    } catch (RuntimeException | Error e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  static Throwable cause(Throwable error) {
    Throwable cause = error.getCause();
    return error instanceof CompletionException && cause != null ? cause : error;
  }

  /** Whether Redis answered with an error of that name. */
  static boolean isFault(@Nullable Throwable error, String name) {
    return error != null
        && cause(error) instanceof RedisCommandExecutionException fault
        && String.valueOf(fault.getMessage()).startsWith(name);
  }
}
