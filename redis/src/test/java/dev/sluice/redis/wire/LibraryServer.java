package dev.sluice.redis.wire;

import dev.sluice.Decision;
import dev.sluice.Receipt;
import dev.sluice.redis.testing.RedisProcess;
import io.lettuce.core.RedisClient;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A Redis with a library, and the calls that a test sends to it. */
final class LibraryServer implements AutoCloseable {
  /** All keys, each with its type and its bytes in hex; and each with its TTL in milliseconds. */
  private static final String STATE =
      """
      local all = redis.call('KEYS', '*')
      table.sort(all)
      local state = {}
      for _, key in ipairs(all) do
        local type = redis.call('TYPE', key).ok
        local value = type == 'string' and redis.call('GET', key)
          or type == 'zset' and table.concat(redis.call('ZRANGE', key, 0, -1, 'WITHSCORES'), ' ') or type
        value = value:gsub('.', function(c) return string.format('%02x', c:byte()) end)
        state[#state + 1] = key .. ' ' .. type .. ' ' .. value
        state[#state + 1] = tostring(redis.call('PTTL', key))
      end
      return state
      """;

  private final RedisProcess redis = RedisProcess.start(RedisProcess.Binary.SYSTEM);
  private final RedisClient client = RedisClient.create(redis.uri());
  private final StatefulRedisConnection<String, String> connection = client.connect();
  private final Link link =
      new Link(
          () -> connection,
          () -> List.of(CompletableFuture.completedFuture(connection.async())),
          true);

  LibraryServer(String library) {
    String unused = connection.sync().functionLoad(library);
  }

  /** Sends a call. Returns its answers, each as text, and what was allowed. */
  List<Answer> ask(List<Operation<?>> operations, long now) throws Exception {
    return ask(operations, now, now);
  }

  /** As above, with the calendar windows around another moment. */
  List<Answer> ask(List<Operation<?>> operations, long now, long moment) throws Exception {
    Batch batch = new Batch(false);
    for (Operation<?> operation : operations) {
      operation.then((result, error) -> {}); // somebody waits, so it is not cancelled
      batch.add(operation);
    }
    Batch.Request request =
        batch.request(terms -> new EncodedTerms(terms), false, now, List.of(moment), false);
    CompletableFuture<byte[]> replied = new CompletableFuture<>();
    link.run(
        request,
        false,
        (bytes, error) -> {
          if (error != null) {
            replied.completeExceptionally(error);
          } else {
            replied.complete(bytes);
          }
        },
        () -> {});
    Reply reply = new Reply(replied.get(10, TimeUnit.SECONDS));
    List<Answer> answers = new ArrayList<>();
    for (Operation<?> operation : request.operations) {
      long verdict = reply.peek();
      answers.add(
          verdict == Reply.ID_REUSED || verdict == Reply.LACKS_ROUND
              ? refused(reply, verdict)
              : answer(operation.read(reply), verdict == Reply.PLAINLY));
    }
    answers.add(new Answer("foreign " + reply.foreign, false, null));
    return answers;
  }

  private static Answer refused(Reply reply, long verdict) {
    reply.next();
    return new Answer(
        "refused " + verdict + (verdict == Reply.LACKS_ROUND ? " " + reply.next() : ""),
        false,
        null);
  }

  private static Answer answer(Object result, boolean isPlain) {
    if (result instanceof Decision decision) {
      Receipt receipt = decision instanceof Decision.Allowed a ? a.receipt() : null;
      String taken = receipt == null ? "denied" : receipt.entries().toString();
      return new Answer(decision.balances() + " " + taken, isPlain, receipt);
    }
    return new Answer(result.toString(), isPlain, null);
  }

  List<String> state() {
    return connection.sync().eval(STATE, ScriptOutputType.MULTI);
  }

  /** Runs a command of Redis. */
  String command(String... words) {
    return redis.command(words);
  }

  @Override
  public void close() {
    connection.close();
    client.shutdown();
    redis.close();
  }

  /**
   * An answer.
   *
   * @param text all of it
   * @param isPlain whether it came by the plain way
   * @param receipt of an allowed call
   */
  record Answer(String text, boolean isPlain, @Nullable Receipt receipt) {}
}
