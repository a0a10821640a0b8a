package dev.sluice.redis.wire;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Cycle;
import dev.sluice.Identity;
import dev.sluice.Intent;
import dev.sluice.Limit;
import dev.sluice.OnStoreFailure;
import dev.sluice.Receipt;
import dev.sluice.Rule;
import dev.sluice.Settlement;
import dev.sluice.Terms;
import dev.sluice.internal.Durations;
import dev.sluice.store.Charge;
import dev.sluice.store.Plan;
import java.time.Duration;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/**
 * What a call costs Redis on full accounts: the commands it runs, the values they return, and the
 * numbers that are unpacked from strings. It grows neither with what an account holds nor with the
 * time since the call before.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class WorkIT {
  private static final long NOW = 1_790_000_000_000_000L;
  private static final Duration HOUR = Duration.ofHours(1);
  private static final long MICROS = Durations.micros(HOUR);

  /** Where the library looks up the commands; here they count what they do. */
  private static final String LOOKED_UP =
      "call, try, pack, read_packed = redis.call, redis.pcall, struct.pack, struct.unpack";

  private static final String COUNTING =
      """
      local work = {0, 0, 0}
      local function counting(command)
        return function(...)
          local reply = command(...)
          work[1] = work[1] + 1
          work[2] = work[2] + (type(reply) == 'table' and #reply or 1)
          return reply
        end
      end
      call, try, pack = counting(redis.call), counting(redis.pcall), struct.pack
      read_packed = function(...)
        local found = {struct.unpack(...)}
        work[3] = work[3] + #found
        return unpack(found)
      end
      counted = function()
        redis.call('SET', 'work', table.concat(work, ' '))
        work[1], work[2], work[3] = 0, 0, 0
      end
      """;

  /** Copies all keys from one database to another, which is emptied first. */
  private static final String COPY =
      """
      redis.call('SELECT', ARGV[2])
      redis.call('FLUSHDB')
      redis.call('SELECT', ARGV[1])
      for _, key in ipairs(redis.call('KEYS', '*')) do
        redis.call('COPY', key, key, 'DB', ARGV[2])
      end
      """;

  /** A call reads at most so many entries of a log one by one, and twice as many values. */
  private static final long MOST_COMMANDS = 500;

  private static final long MOST_VALUES = 1_600;
  private static final long MOST_NUMBERS = 400;

  private final LibraryServer redis =
      new LibraryServer(
          Library.TEXT
              .replace("local is_whole = true", "local is_whole, counted = true, nil")
              .replace(LOOKED_UP, COUNTING)
              .replace("  return packed()\nend", "  counted()\n  return packed()\nend"));

  private final Identity ann = Identity.of("who", "ann");

  private record Work(long commands, long values, long numbers) {
    static Work of(String text) {
      String[] words = text.split(" ", -1);
      return new Work(Long.parseLong(words[0]), Long.parseLong(words[1]), Long.parseLong(words[2]));
    }
  }

  /** An account that is filled by calls of certain costs, until it is used up or nearly so. */
  private record Filling(String name, Limit limit, int calls, long[] costs) {
    long all() {
      long sum = 0;
      for (int i = 0; i < calls; i++) {
        sum += costs[i % costs.length];
      }
      return sum;
    }
  }

  private static Filling log(int calls, long... costs) {
    Filling unlimited = new Filling("", Limit.slidingLog(1, HOUR), calls, costs);
    long limit = unlimited.all() + 1_000;
    String name = (costs.length == 1 ? "log of equal costs, " : "log of mixed costs, ") + calls;
    return new Filling(name, Limit.slidingLog(limit, HOUR), calls, costs);
  }

  private static Filling window(int parts) {
    return new Filling(
        "window of " + parts + " parts",
        Limit.slidingWindow(parts + 1_000L, HOUR, HOUR.dividedBy(parts)),
        parts,
        new long[] {1});
  }

  private static List<Filling> fillings() {
    return List.of(
        new Filling("bucket", Limit.tokenBucket(1_100, 1, HOUR), 100, new long[] {1}),
        new Filling("fixed window", Limit.fixedWindow(1_100, HOUR), 100, new long[] {1}),
        new Filling(
            "calendar",
            Limit.fixedWindow(1_100, Cycle.calendar(Cycle.Unit.MONTH, ZoneId.of("Europe/Paris"))),
            100,
            new long[] {1}),
        window(60),
        window(3_600),
        log(300, 1),
        log(10_000, 1),
        log(300, 1, 2, 7, 1, 3),
        log(10_000, 1, 2, 7, 1, 3));
  }

  @AfterAll
  void closeRedis() {
    redis.close();
  }

  @Test
  void workOfCallIsBoundedWhateverItsAccountHolds() throws Exception {
    for (Filling filling : fillings()) {
      Map<String, Work> worst = new LinkedHashMap<>();
      Terms terms = new Terms(List.of(filling.limit), null, false);
      Rule rule = Rule.builder("r").limit(filling.limit).build();
      redis.command("FLUSHALL");
      Receipt first = fill(filling, rule, terms);
      redis.command("EVAL", COPY, "0", "0", "1");
      for (long idle : List.of(1L, MICROS / 3, MICROS - 2)) {
        measure(filling, rule, terms, first, idle)
            .forEach((name, work) -> worst.merge(name, work, WorkIT::larger));
      }
      worst.forEach(
          (name, work) -> {
            System.out.printf(
                "%-28s %-22s %4d commands, %5d values, %4d numbers%n",
                filling.name, name, work.commands, work.values, work.numbers);
            assertThat(work.commands).as(name + " on " + filling).isLessThan(MOST_COMMANDS);
            assertThat(work.values).as(name + " on " + filling).isLessThan(MOST_VALUES);
            assertThat(work.numbers).as(name + " on " + filling).isLessThan(numbers(filling, name));
          });
    }
  }

  /** A refund into a part of a window changes the totals of all parts that follow. */
  private static long numbers(Filling filling, String name) {
    return filling.name.equals("window of 3600 parts") && name.equals("refund of the first")
        ? 4_000
        : MOST_NUMBERS;
  }

  private static Work larger(Work one, Work other) {
    return new Work(
        Math.max(one.commands, other.commands),
        Math.max(one.values, other.values),
        Math.max(one.numbers, other.numbers));
  }

  private Map<String, Work> measure(
      Filling filling, Rule rule, Terms terms, Receipt first, long idle) throws Exception {
    Map<String, Work> found = new LinkedHashMap<>();
    long limit = filling.all() + 1_000;
    List<String> names =
        List.of(
            "allowed",
            "denied",
            "denied, half",
            "denied, all",
            "peek",
            "record",
            "record, all",
            "refund of the first",
            "more than estimated",
            "forgiven",
            "reset");
    for (String name : names) {
      redis.command("EVAL", COPY, "0", "1", "0");
      Charge one = new Charge(rule, ann, terms, 1);
      Operation<?> operation =
          switch (name) {
            case "allowed" -> judge(one, Intent.TAKE);
            case "denied" ->
                judge(new Charge(rule, ann, terms, 1_001 + limit / 1_000), Intent.TAKE);
            case "denied, half" -> judge(new Charge(rule, ann, terms, limit / 2), Intent.TAKE);
            case "denied, all" -> judge(new Charge(rule, ann, terms, limit), Intent.TAKE);
            case "peek" -> judge(new Charge(rule, ann, terms, limit / 2), Intent.PEEK);
            case "record" -> judge(new Charge(rule, ann, terms, 1_010), Intent.RECORD);
            case "record, all" -> judge(new Charge(rule, ann, terms, limit - 5), Intent.RECORD);
            case "refund of the first" -> settle(first, new Settlement(0L, Map.of(), Set.of()));
            case "more than estimated" ->
                settle(first, new Settlement(limit / 2, Map.of(), Set.of()));
            case "forgiven" -> settle(first, new Settlement(null, Map.of(), Set.of("who")));
            default -> ManageOperation.reset(Keyspace.UNKEYED, one.account());
          };
      List<LibraryServer.Answer> unused = redis.ask(List.of(operation), NOW + MICROS / 4 + idle);
      found.put(name, Work.of(redis.command("GET", "work")));
    }
    return found;
  }

  /** Fills an account evenly in a quarter of an hour. Returns the first receipt. */
  private Receipt fill(Filling filling, Rule rule, Terms terms) throws Exception {
    Receipt first = null;
    for (int i = 0; i < filling.calls; i += 50) {
      List<Operation<?>> operations = new ArrayList<>();
      for (int k = i; k < Math.min(i + 50, filling.calls); k++) {
        long cost = filling.costs[k % filling.costs.length];
        operations.add(judge(new Charge(rule, ann, terms, cost), Intent.TAKE));
      }
      long now = NOW + MICROS / 4 * i / filling.calls;
      for (LibraryServer.Answer answer : redis.ask(operations, now)) {
        first = first == null ? answer.receipt() : first;
      }
    }
    return Objects.requireNonNull(first);
  }

  private static Operation<?> judge(Charge charge, Intent intent) {
    return new JudgeOperation(
        Keyspace.UNKEYED, new Plan(List.of(charge), intent, null, OnStoreFailure.ALLOW));
  }

  private static Operation<?> settle(Receipt receipt, Settlement settlement) {
    return SettleOperation.of(
        Keyspace.UNKEYED, receipt, receipt.entries(), settlement, Keyspace.CALLS);
  }
}
