package dev.sluice.redis.wire;

import dev.sluice.internal.Stages;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Calls the library: by FCALL where Redis has functions, else by EVALSHA. Thread-safe. */
public final class Link {
  /*
   * Redis does not know the library or the script after a restart, after a flush, and on a node
   * that joined a Cluster. Then nothing was done: the library is loaded and the call sent again. A
   * Redis before version 7 has no functions, and a user may not be permitted to use them. After the
   * first such answer, the script is used instead.
   */
  private static final Logger LOG = LoggerFactory.getLogger(Link.class);
  private static final int MOST_TRIES = 3;
  private static final Duration LOAD_PATIENCE = Duration.ofMillis(100);

  private static final Flight.Head FUNCTION = new Flight.Head(CommandType.FCALL, Library.NAME);
  private static final Flight.Head READING_FUNCTION =
      new Flight.Head(CommandType.FCALL_RO, Library.READING_NAME);

  // Redis builds all functions of a script anew for each call, so usual calls run a short script.
  private static final Flight.Head KNOWN_SCRIPT =
      new Flight.Head(CommandType.EVALSHA, Library.SCRIPT_DIGEST);
  private static final Flight.Head SCRIPT = new Flight.Head(CommandType.EVAL, Library.SCRIPT);
  private static final Flight.Head KNOWN_SHORT_SCRIPT =
      new Flight.Head(CommandType.EVALSHA, Library.SHORT_SCRIPT_DIGEST);
  private static final Flight.Head SHORT_SCRIPT =
      new Flight.Head(CommandType.EVAL, Library.SHORT_SCRIPT);

  private final Supplier<StatefulConnection<String, String>> connection;
  private final Supplier<
          Collection<CompletionStage<? extends RedisClusterAsyncCommands<String, String>>>>
      masters;
  private volatile boolean usesFunctions;

  /**
   * A link.
   *
   * @param connection where calls are sent
   * @param masters all Redis nodes that must have the library
   * @param usesFunctions whether to use functions where Redis has them
   */
  public Link(
      Supplier<StatefulConnection<String, String>> connection,
      Supplier<Collection<CompletionStage<? extends RedisClusterAsyncCommands<String, String>>>>
          masters,
      boolean usesFunctions) {
    this.connection = connection;
    this.masters = masters;
    this.usesFunctions = usesFunctions;
  }

  /**
   * Calls the library and passes on its reply or error.
   *
   * @param reads whether the call must not write, so that a full Redis accepts it
   * @param landed runs once Redis has answered; if Redis did not know the library, the call is sent
   *     again then
   * @return false if that was at once, and {@code landed} does not run
   */
  boolean run(
      Batch.Request request,
      boolean reads,
      BiConsumer<byte @Nullable [], @Nullable Throwable> then,
      Runnable landed) {
    AtomicBoolean met = new AtomicBoolean(); // whoever comes second, the answer or this method
    send(
        request,
        reads,
        (reply, error) -> {
          try {
            read(request, reads, reply, error, 1, then);
          } finally {
            if (met.getAndSet(true)) {
              landed.run();
            }
          }
        });
    return !met.getAndSet(true);
  }

  private void read(
      Batch.Request request,
      boolean reads,
      byte @Nullable [] reply,
      @Nullable Throwable error,
      int tries,
      BiConsumer<byte @Nullable [], @Nullable Throwable> then) {
    boolean sentAgain =
        error != null
            && tries < MOST_TRIES
            && !request.isDone()
            && sendAgain(
                request,
                reads,
                error,
                (next, fault) -> read(request, reads, next, fault, tries + 1, then));
    if (!sentAgain) {
      then.accept(reply, error);
    }
  }

  private void send(
      Batch.Request request,
      boolean reads,
      BiConsumer<byte @Nullable [], @Nullable Throwable> then) {
    if (usesFunctions) {
      dispatch(reads ? READING_FUNCTION : FUNCTION, request, then);
    } else {
      dispatch(request.suitsShortScript ? KNOWN_SHORT_SCRIPT : KNOWN_SCRIPT, request, then);
    }
  }

  private void sendText(
      Batch.Request request, BiConsumer<byte @Nullable [], @Nullable Throwable> then) {
    dispatch(request.suitsShortScript ? SHORT_SCRIPT : SCRIPT, request, then);
  }

  private void dispatch(
      Flight.Head head,
      Batch.Request request,
      BiConsumer<byte @Nullable [], @Nullable Throwable> then) {
    Flight flight = new Flight(head, request.arguments, then);
    try {
      request.fliesAs(connection.get().dispatch(flight));
    } catch (RuntimeException | Error e) {
      flight.completeExceptionally(e);
    }
  }

  /** Sends a call again if it failed because Redis lacks the library; returns whether it did. */
  private boolean sendAgain(
      Batch.Request request,
      boolean reads,
      Throwable error,
      BiConsumer<byte @Nullable [], @Nullable Throwable> then) {
    if (isFault(error, "NOSCRIPT")) {
      sendText(request, then);
      return true;
    }
    if (isFault(error, "ERR Function not found")) {
      Stages.pass(
          onEveryMaster(Link::load),
          (done, failed) -> {
            if (failed == null) {
              send(request, reads, then);
              return;
            }
            if (lacksFunctions(failed)) {
              useScripts(failed);
            }
            // A full Redis refuses to load a library, but runs a script that only reads.
            sendText(request, then);
          });
      return true;
    }
    if (lacksFunctions(error)) {
      useScripts(error);
      send(request, reads, then);
      return true;
    }
    return false;
  }

  /** Whether calls use functions, as far as is known. */
  public boolean usesFunctions() {
    return usesFunctions;
  }

  private void useScripts(Throwable error) {
    if (usesFunctions) {
      usesFunctions = false;
      LOG.info(
          "Using EVALSHA for decisions, because functions are not available: {}",
          Stages.cause(error).getMessage());
    }
  }

  /** Whether Redis has no functions, or the user may not use them. */
  private static boolean lacksFunctions(Throwable error) {
    String message = String.valueOf(Stages.cause(error).getMessage()).toLowerCase(Locale.ROOT);
    boolean isOf =
        message.contains("fcall") || message.contains("function|") || message.contains("'function");
    return isOf && (isFault(error, "ERR unknown command") || isFault(error, "NOPERM"));
  }

  private static CompletionStage<String> load(RedisClusterAsyncCommands<String, String> commands) {
    CommandArgs<String, String> args =
        new CommandArgs<>(Utf8.CODEC).add("LOAD").add("REPLACE").addValue(Library.TEXT);
    return commands.dispatch(CommandType.FUNCTION, new StatusOutput<>(Utf8.CODEC), args);
  }

  /** Runs a command on every master that answers soon; fails if none could run it. */
  private CompletionStage<?> onEveryMaster(
      Function<RedisClusterAsyncCommands<String, String>, CompletionStage<String>> step) {
    List<CompletableFuture<String>> steps;
    try {
      steps =
          masters.get().stream()
              .map(master -> master.thenCompose(step).toCompletableFuture())
              .toList();
    } catch (RuntimeException e) {
      return CompletableFuture.failedFuture(e);
    }
    return CompletableFuture.allOf(steps.toArray(new CompletableFuture<?>[0]))
        .handle((done, error) -> null)
        .completeOnTimeout(null, LOAD_PATIENCE.toMillis(), TimeUnit.MILLISECONDS)
        .thenCompose(
            waited ->
                steps.stream()
                    .filter(each -> each.isDone() && !each.isCompletedExceptionally())
                    .findFirst()
                    .orElse(steps.get(0)));
  }

  /** Whether an error is an answer of Redis with that name. */
  public static boolean isFault(@Nullable Throwable error, String name) {
    return error != null
        && Stages.cause(error) instanceof RedisCommandExecutionException fault
        && String.valueOf(fault.getMessage()).startsWith(name);
  }
}
