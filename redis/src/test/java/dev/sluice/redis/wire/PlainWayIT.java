package dev.sluice.redis.wire;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Cycle;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Intent;
import dev.sluice.Limit;
import dev.sluice.Lock;
import dev.sluice.OnStoreFailure;
import dev.sluice.Receipt;
import dev.sluice.Rule;
import dev.sluice.Settlement;
import dev.sluice.Terms;
import dev.sluice.internal.Durations;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.store.Charge;
import dev.sluice.store.Plan;
import io.lettuce.core.RedisClient;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * The plain way and the general way decide the same random calls: each answer, each byte of each
 * key and each TTL is equal.
 */
class PlainWayIT {
  private static final int HISTORIES = Integer.getInteger("sluice.plain", 60);
  private static final int CALLS = 60;
  private static final long SEED = Long.getLong("sluice.from", System.nanoTime());
  private static final long SECOND = 1_000_000;
  private static final ZoneId PARIS = ZoneId.of("Europe/Paris");

  /** The condition in plain.lua that sends plans the general way; here it holds for all. */
  private static final String GENERAL = "if not (charges.are_plain and may_write) then";

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

  /** A server with one of the libraries. */
  private static final class Side implements AutoCloseable {
    private final RedisProcess redis = RedisProcess.start(RedisProcess.Binary.SYSTEM);
    private final RedisClient client = RedisClient.create(redis.uri());
    private final StatefulRedisConnection<String, String> connection = client.connect();
    private final Link link =
        new Link(
            () -> connection,
            () -> List.of(CompletableFuture.completedFuture(connection.async())),
            true);

    Side(String library) {
      String unused = connection.sync().functionLoad(library);
    }

    /** Sends a call. Returns its answers, each as text, and what was allowed. */
    List<Answer> ask(List<Operation<?>> operations, long now) throws Exception {
      Batch batch = new Batch(false);
      for (Operation<?> operation : operations) {
        operation.then((result, error) -> {}); // somebody waits, so it is not cancelled
        batch.add(operation);
      }
      Batch.Request request =
          batch.request(terms -> new EncodedTerms(terms), false, now, List.of(now), false);
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

    @Override
    public void close() {
      connection.close();
      client.shutdown();
      redis.close();
    }
  }

  private record Answer(String text, boolean isPlain, @Nullable Receipt receipt) {}

  @Test
  void bothWaysGiveTheSameAnswersBytesAndTtls() throws Exception {
    System.out.printf("PlainWayIT: %d histories, -Dsluice.from=%d%n", HISTORIES, SEED);
    assertThat(Library.TEXT).containsOnlyOnce(GENERAL);
    try (Side plain = new Side(Library.TEXT);
        Side general = new Side(Library.TEXT.replace(GENERAL, "if true then"))) {
      long plainly = 0;
      long all = 0;
      for (int i = 0; i < HISTORIES; i++) {
        History history = new History(SEED + i, plain, general);
        history.play();
        plain.redis.command("FLUSHALL"); // keys of earlier histories would expire meanwhile
        general.redis.command("FLUSHALL");
        plainly += history.plainly;
        all += history.decisions;
      }
      System.out.printf("PlainWayIT: %,d of %,d decisions went the plain way%n", plainly, all);
      assertThat(plainly).as("decisions that went the plain way").isGreaterThan(all / 10);
    }
  }

  private static final class History {
    private static final int ACCOUNTS = 3;
    private static final int MOST_TOLD = 10_000;

    private final long seed;
    private final SplittableRandom random;
    private final Side plain;
    private final Side general;
    private final List<Rule> rules = new ArrayList<>();
    private final List<List<Terms>> terms = new ArrayList<>();
    private final List<Receipt> receipts = new ArrayList<>();
    private final StringBuilder told = new StringBuilder();
    private long now;
    private long plainly;
    private long decisions;

    History(long seed, Side plain, Side general) {
      this.seed = seed;
      this.random = new SplittableRandom(seed);
      this.plain = plain;
      this.general = general;
      this.now = 1_790_000_000_000_000L + random.nextLong(10_000 * SECOND);
      for (int i = 0; i < 2; i++) {
        Terms first = terms(i == 0);
        terms.add(List.of(first, i == 0 ? first : terms(false), terms(false)));
        Rule.Builder rule = Rule.builder("r" + i).limit(first.limits().get(0));
        rules.add((chance(8) ? rule.shadow() : rule).build());
      }
    }

    private boolean chance(int oneIn) {
      return random.nextInt(oneIn) == 0;
    }

    private Terms terms(boolean alone) {
      List<Limit> limits = new ArrayList<>();
      for (int i = alone || chance(2) ? 1 : 2 + random.nextInt(3); i > 0; i--) {
        limits.add(limit());
      }
      Lock lock = chance(3) ? Lock.of(Duration.ofSeconds(30 + random.nextInt(60))) : null;
      return new Terms(limits, lock == null || chance(2) ? lock : lock.onLimit(), chance(5));
    }

    private Limit limit() {
      long most = 1L + random.nextInt(12);
      Duration span = Durations.ofMicros(SECOND + random.nextLong(100 * SECOND));
      return switch (random.nextInt(6)) {
        case 0 -> Limit.tokenBucket(most, 1 + random.nextInt(7), span);
        case 1 -> Limit.tokenBucket(most, 1, Duration.ofSeconds(1 + random.nextInt(20)));
        case 2 -> Limit.fixedWindow(most, span);
        case 3 -> Limit.fixedWindow(most, Cycle.calendar(Cycle.Unit.MINUTE, PARIS));
        case 4 -> Limit.slidingLog(most, span);
        default -> {
          Duration precision = Duration.ofSeconds(1 + random.nextInt(5));
          yield Limit.slidingWindow(most, precision.multipliedBy(2 + random.nextInt(9)), precision);
        }
      };
    }

    void play() throws Exception {
      for (int i = 0; i < CALLS; i++) {
        long step =
            switch (random.nextInt(8)) {
              case 0, 1 -> 0;
              case 2 -> 1;
              case 3 -> random.nextLong(1_000);
              case 4, 5 -> random.nextLong(3 * SECOND);
              case 6 -> random.nextLong(30 * SECOND);
              default -> chance(4) ? -random.nextLong(20 * SECOND) : random.nextLong(400 * SECOND);
            };
        now += step;
        if (chance(40)) {
          writeSomethingForeign();
        }
        call();
      }
    }

    private void writeSomethingForeign() {
      String key = Keyspace.UNKEYED.key(charge(random.nextInt(2), 1).account());
      String value = chance(2) ? "not ours" : null;
      tell("foreign " + key);
      for (Side side : List.of(plain, general)) {
        Object unused =
            value != null
                ? side.connection.sync().set(key, value)
                : side.connection.sync().del(key) + side.connection.sync().lpush(key, "x");
      }
    }

    private Charge charge(int rule, long cost) {
      Identity caller = Identity.of("who", seed + "-" + random.nextInt(ACCOUNTS));
      List<Terms> known = terms.get(rule);
      return new Charge(rules.get(rule), caller, known.get(chance(6) ? 2 : 0), cost);
    }

    private Operation<?> operation() {
      if (!receipts.isEmpty() && chance(8)) {
        Receipt receipt = receipts.get(random.nextInt(receipts.size()));
        Settlement settlement =
            new Settlement(chance(3) ? null : random.nextLong(4), Map.of(), Set.of());
        tell("settle " + receipt + " " + settlement);
        return SettleOperation.of(
            Keyspace.UNKEYED, receipt, receipt.entries(), settlement, Keyspace.CALLS);
      }
      long cost = chance(5) ? random.nextInt(5) : 1;
      List<Charge> charges = new ArrayList<>();
      if (!chance(3)) {
        charges.add(charge(0, cost));
      }
      if (charges.isEmpty() || chance(3)) {
        charges.add(charge(1, chance(3) ? 1 + random.nextInt(3) : cost));
      }
      Intent intent =
          chance(12)
              ? Intent.PEEK
              : chance(12) ? Intent.RECORD : chance(10) ? Intent.RESERVE : Intent.TAKE;
      String id = chance(12) ? seed + "-" + random.nextInt(3) : null;
      tell(intent + " " + id + " " + charges);
      return new JudgeOperation(
          Keyspace.UNKEYED, new Plan(charges, intent, id, OnStoreFailure.ALLOW));
    }

    private void call() throws Exception {
      List<Operation<?>> operations = new ArrayList<>();
      for (int i = chance(2) ? 1 : 1 + random.nextInt(6); i > 0; i--) {
        operations.add(operation());
      }
      tell("at " + now);

      List<Answer> found = plain.ask(operations, now);
      List<Answer> expected = general.ask(operations, now);

      assertThat(found.stream().map(Answer::text))
          .as(told())
          .isEqualTo(expected.stream().map(Answer::text).toList());
      assertThat(expected).noneMatch(Answer::isPlain);
      same(plain.state(), general.state());
      for (Answer answer : found) {
        decisions += answer.receipt == null ? 0 : 1;
        plainly += answer.isPlain ? 1 : 0;
        if (answer.receipt != null && !answer.receipt.entries().isEmpty()) {
          receipts.add(answer.receipt);
        }
      }
    }

    /** Keys and values are equal, and TTLs but for the time between the two calls. */
    private void same(List<String> found, List<String> expected) {
      assertThat(found).as(told()).hasSameSizeAs(expected);
      Map<String, Long> apart = new HashMap<>();
      for (int i = 0; i < found.size(); i += 2) {
        assertThat(found.get(i)).as(told()).isEqualTo(expected.get(i));
        long less =
            Math.abs(Long.parseLong(found.get(i + 1)) - Long.parseLong(expected.get(i + 1)));
        if (less > 5_000) {
          apart.put(found.get(i), less);
        }
      }
      assertThat(apart).as("TTLs that differ, in milliseconds, after%n%s", told()).isEmpty();
    }

    private String told() {
      return "seed " + seed + " after\n" + told.substring(Math.max(0, told.length() - MOST_TOLD));
    }

    private void tell(String what) {
      told.append(what).append('\n');
    }
  }
}
