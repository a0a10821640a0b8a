package dev.sluice.redis;

import dev.sluice.redis.connection.Topology;
import dev.sluice.redis.wire.Keyspace;
import dev.sluice.redis.wire.StoreFault;
import dev.sluice.store.SharedData;
import io.lettuce.core.Limit;
import io.lettuce.core.Range;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.SetArgs;
import io.lettuce.core.StreamMessage;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The shared data of the nodes on one Redis. Thread-safe. */
final class RedisData implements SharedData {
  /*
   * Each name is one key, or two in one slot:  s2:data:{overrides}
   *
   *   value   a string with a TTL
   *   map     a hash; the field "" is its version, the microsecond of its last change, or one more
   *           than the version before if the clock of Redis was set back
   *   group   a hash of values, and at "!until" a sorted set of the members by their end
   *   log     a stream
   *
   * A key that holds something else was not written by Sluice; writes replace it, and reads find
   * nothing in it.
   */
  private static final Duration CONNECTING = Duration.ofSeconds(2);
  private static final Duration RETRY_PAUSE = Duration.ofMillis(20);
  private static final String TEXT = "t"; // the only field of an entry of a log

  private static final String OURS =
      """
      local function ours(key, wanted)
        local kind = redis.call('TYPE', key).ok
        if kind ~= wanted and kind ~= 'none' then redis.call('DEL', key) end
      end
      """;

  private static final String LEASE =
      OURS
          + """
          ours(KEYS[1], 'string')
          local owner = redis.call('GET', KEYS[1])
          if owner and owner ~= ARGV[1] then return 0 end
          redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
          return 1
          """;

  /** A version is below 2^53: a number of Lua holds those exactly. Sluice writes no higher ones. */
  private static final String LAST_VERSION =
      """
      local last = redis.call('HGET', KEYS[1], '') or ''
      last = #last <= 16 and string.match(last, '^%d+$') and tonumber(last) or 0
      if last >= 9007199254740992 then last = 0 end
      """;

  private static final String VERSION =
      """
      local now = redis.call('TIME')
      local version = math.max(now[1] * 1000000 + now[2], last + 1)
      redis.call('HSET', KEYS[1], '', string.format('%.0f', version))
      return 1
      """;

  private static final String PUT_ENTRY =
      OURS
          + """
          ours(KEYS[1], 'hash')
          if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0
              and redis.call('HLEN', KEYS[1]) > tonumber(ARGV[3]) then
            return 0
          end
          """
          + LAST_VERSION
          + """
          redis.call('HSET', KEYS[1], '', 0, ARGV[1], ARGV[2])
          """
          + VERSION;

  private static final String REMOVE_ENTRY =
      OURS
          + """
          ours(KEYS[1], 'hash')
          """
          + LAST_VERSION
          + """
          if redis.call('HDEL', KEYS[1], ARGV[1]) == 0 then return 0 end
          """
          + VERSION;

  private static final String PUT_BACK =
      OURS
          + """
          ours(KEYS[1], 'hash')
          """
          + LAST_VERSION
          + """
          if last >= tonumber(ARGV[1]) then return 0 end
          redis.call('DEL', KEYS[1])
          redis.call('HSET', KEYS[1], '', ARGV[1])
          for i = 2, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
          return 1
          """;

  private static final String NOW =
      """
      local time = redis.call('TIME')
      local now = time[1] * 1000 + math.floor(time[2] / 1000)
      """;

  private static final String ANNOUNCE =
      OURS
          + NOW
          + """
          ours(KEYS[1], 'hash')
          ours(KEYS[2], 'zset')
          for _, gone in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'LIMIT', 0, 1000)) do
            redis.call('ZREM', KEYS[2], gone)
            redis.call('HDEL', KEYS[1], gone)
          end
          if not redis.call('ZSCORE', KEYS[2], ARGV[1])
              and redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[4]) then
            return 0
          end
          redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
          redis.call('ZADD', KEYS[2], now + ARGV[3], ARGV[1])
          for _, key in ipairs(KEYS) do
            if redis.call('PTTL', key) < tonumber(ARGV[3]) then redis.call('PEXPIRE', key, ARGV[3]) end
          end
          return 1
          """;

  private static final String MEMBERS =
      NOW
          + """
          if redis.call('TYPE', KEYS[1]).ok ~= 'hash' or redis.call('TYPE', KEYS[2]).ok ~= 'zset' then
            return {}
          end
          local found = {}
          for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. now, '+inf')) do
            local value = redis.call('HGET', KEYS[1], name)
            if value and #value <= 1048576 then -- longer ones are not ours
              found[#found + 1] = name
              found[#found + 1] = value
            end
          end
          return found
          """;

  private static final String APPEND =
      OURS
          + """
          ours(KEYS[1], 'stream')
          for i = 3, #ARGV do
            redis.call('XADD', KEYS[1], 'MAXLEN', ARGV[1], '*', 't', ARGV[i])
          end
          redis.call('PEXPIRE', KEYS[1], ARGV[2])
          return 1
          """;

  private final Topology topology;

  /**
   * Shared data.
   *
   * @param topology that of operators, so that decisions do not wait for it
   */
  RedisData(Topology topology) {
    this.topology = topology;
  }

  private static String key(String name) {
    SharedData.check(name, "");
    return Keyspace.DATA + "{" + name + "}";
  }

  /** Asks; what callers chain to the answer runs neither on an event loop nor among decisions. */
  private <T> CompletionStage<T> ask(
      Function<RedisClusterAsyncCommands<String, String>, CompletionStage<T>> question) {
    return topology
        .tried()
        .thenCompose(tried -> attempt(question, System.nanoTime()))
        .orTimeout(OperatorCalls.PATIENCE.toMillis(), TimeUnit.MILLISECONDS)
        .exceptionallyCompose(error -> CompletableFuture.<T>failedFuture(StoreFault.of(error)))
        .whenCompleteAsync((answer, error) -> {}, topology.background());
  }

  /**
   * Sends a command. The client rejects commands while it connects to a node for the first time; a
   * rejected command was not sent, so it is tried again.
   */
  private <T> CompletableFuture<T> attempt(
      Function<RedisClusterAsyncCommands<String, String>, CompletionStage<T>> question,
      long sinceNanos) {
    return question
        .apply(topology.commands())
        .toCompletableFuture()
        .exceptionallyCompose(
            error -> {
              StoreFault fault = StoreFault.of(error);
              boolean late = System.nanoTime() - sinceNanos > CONNECTING.toNanos();
              if (late || !fault.kind().equals("disconnected")) {
                return CompletableFuture.failedFuture(fault);
              }
              CompletableFuture<@Nullable Void> paused = new CompletableFuture<>();
              topology.soon(RETRY_PAUSE, () -> paused.complete(null));
              return paused.thenCompose(done -> attempt(question, sinceNanos));
            });
  }

  /** Like {@link #ask}; a key of another type is read as if it were not there. */
  private <T> CompletionStage<T> read(
      T nothing, Function<RedisClusterAsyncCommands<String, String>, CompletionStage<T>> question) {
    return ask(question)
        .exceptionallyCompose(
            error ->
                StoreFault.of(error).kind().equals("wrongtype")
                    ? CompletableFuture.completedFuture(nothing)
                    : CompletableFuture.failedFuture(error));
  }

  private CompletionStage<Boolean> run(String script, List<String> keys, List<String> arguments) {
    return ask(
        redis ->
            redis
                .<Long>eval(
                    script,
                    ScriptOutputType.INTEGER,
                    keys.toArray(new String[0]),
                    arguments.toArray(new String[0]))
                .thenApply(done -> done == 1));
  }

  private static String millis(Duration duration) {
    return Long.toString(duration.toMillis());
  }

  @Override
  public CompletionStage<Optional<String>> get(String name) {
    return read(Optional.empty(), redis -> redis.get(key(name)).thenApply(Optional::ofNullable));
  }

  @Override
  public CompletionStage<Void> put(String name, String value, Duration ttl) {
    SharedData.check(name, value);
    return ask(
        redis ->
            redis
                .set(key(name), value, SetArgs.Builder.px(ttl.toMillis()))
                .thenAccept(written -> {}));
  }

  @Override
  public CompletionStage<Boolean> remove(String name) {
    return ask(redis -> redis.del(key(name)).thenApply(removed -> removed > 0));
  }

  @Override
  public CompletionStage<Boolean> lease(String name, String owner, Duration ttl) {
    SharedData.check(name, owner);
    return run(LEASE, List.of(key(name)), List.of(owner, millis(ttl)));
  }

  @Override
  public CompletionStage<Boolean> putEntry(String map, String key, String value, int most) {
    SharedData.check(map, value);
    if (key.isEmpty()) {
      throw new IllegalArgumentException("key: empty (expected: at least 1 character)");
    }
    return run(PUT_ENTRY, List.of(key(map)), List.of(key, value, Integer.toString(most)));
  }

  @Override
  public CompletionStage<Boolean> removeEntry(String map, String key) {
    return run(REMOVE_ENTRY, List.of(key(map)), List.of(key));
  }

  @Override
  public CompletionStage<Entries> entries(String map) {
    return read(
        new Entries(0, Map.of()),
        redis ->
            redis
                .hgetall(key(map))
                .thenApply(
                    found -> {
                      Map<String, String> values = new HashMap<>(found);
                      return new Entries(number(values.remove("")), values);
                    }));
  }

  @Override
  public CompletionStage<Long> version(String map) {
    return read(0L, redis -> redis.hget(key(map), "").thenApply(RedisData::number));
  }

  private static long number(@Nullable String version) {
    long number = version == null || !version.matches("\\d{1,16}") ? 0 : Long.parseLong(version);
    return number < 1L << 53 ? number : 0;
  }

  @Override
  public CompletionStage<Boolean> putBack(String map, Entries entries) {
    SharedData.check(map, entries);
    List<String> arguments = new ArrayList<>(List.of(Long.toString(entries.version())));
    entries
        .values()
        .forEach(
            (key, value) -> {
              arguments.add(key);
              arguments.add(value);
            });
    return run(PUT_BACK, List.of(key(map)), arguments);
  }

  @Override
  public CompletionStage<Boolean> announce(
      String group, String member, String value, Duration ttl) {
    SharedData.check(group, value);
    return run(
        ANNOUNCE,
        List.of(key(group), key(group) + "!until"),
        List.of(member, value, millis(ttl), Integer.toString(MOST_MEMBERS)));
  }

  @Override
  public CompletionStage<Map<String, String>> members(String group) {
    return ask(
        redis ->
            redis
                .<List<String>>eval(
                    MEMBERS, ScriptOutputType.MULTI, key(group), key(group) + "!until")
                .thenApply(
                    found -> {
                      Map<String, String> members = new LinkedHashMap<>();
                      for (int i = 0; i + 1 < found.size(); i += 2) {
                        members.put(found.get(i), found.get(i + 1));
                      }
                      return members;
                    }));
  }

  @Override
  public CompletionStage<Void> append(String log, List<String> texts, int most, Duration ttl) {
    texts.forEach(text -> SharedData.check(log, text));
    List<String> arguments = new ArrayList<>(List.of(Integer.toString(most), millis(ttl)));
    arguments.addAll(texts);
    return run(APPEND, List.of(key(log)), arguments).thenAccept(done -> {});
  }

  @Override
  public CompletionStage<List<Entry>> newest(String log, int limit, @Nullable String before) {
    Range<String> range =
        Range.from(
            Range.Boundary.unbounded(),
            before == null ? Range.Boundary.unbounded() : Range.Boundary.excluding(before));
    return read(
        List.of(),
        redis ->
            redis
                .xrevrange(key(log), range, Limit.from(limit))
                .thenApply(found -> found.stream().map(RedisData::entry).toList()));
  }

  private static Entry entry(StreamMessage<String, String> message) {
    String id = message.getId();
    return Entry.isId(id)
        ? new Entry(
            id,
            Instant.ofEpochMilli(Long.parseLong(id.substring(0, id.indexOf('-')))),
            message.getBody().getOrDefault(TEXT, ""))
        : new Entry(id, Instant.EPOCH, ""); // Redis makes no such ids by itself
  }
}
