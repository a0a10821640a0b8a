package dev.sluice.redis.wire;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Cycle;
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
import dev.sluice.store.Charge;
import dev.sluice.store.Plan;
import java.time.Duration;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/**
 * The plain way and the general way decide the same random calls: each answer, each byte of each
 * key and each TTL is equal.
 */
class PlainWayIT {
  private static final int HISTORIES = Integer.getInteger("sluice.plain", 240);
  private static final int CALLS = 60;
  private static final long SEED = Long.getLong("sluice.from", System.nanoTime());
  private static final long SECOND = 1_000_000;
  private static final ZoneId PARIS = ZoneId.of("Europe/Paris");

  /** The condition in plain.lua that sends plans the general way; here it holds for all. */
  private static final String GENERAL = "if not (charges.are_plain and may_write) then";

  @Test
  void bothWaysGiveTheSameAnswersBytesAndTtls() throws Exception {
    System.out.printf("PlainWayIT: %d histories, -Dsluice.from=%d%n", HISTORIES, SEED);
    assertThat(Library.TEXT).containsOnlyOnce(GENERAL);
    try (LibraryServer plain = new LibraryServer(Library.TEXT);
        LibraryServer general = new LibraryServer(Library.TEXT.replace(GENERAL, "if true then"))) {
      long plainly = 0;
      long all = 0;
      for (int i = 0; i < HISTORIES; i++) {
        History history = new History(SEED + i, plain, general);
        history.play();
        plain.command("FLUSHALL"); // keys of earlier histories would expire meanwhile
        general.command("FLUSHALL");
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
    private final boolean isUsual; // nothing but takes, which leave rows in their usual state

    /*
     * Not together with lost rows: with a row goes the time of its account, so its log has entries
     * of the future. Then the two ways differ in how long it takes until all is available again.
     */
    private final boolean stepsBack;

    private final LibraryServer plain;
    private final LibraryServer general;
    private final List<Rule> rules = new ArrayList<>();
    private final List<List<Terms>> terms = new ArrayList<>();
    private final List<Receipt> receipts = new ArrayList<>();
    private final StringBuilder told = new StringBuilder();
    private final Set<String> spoiled = new HashSet<>(); // their old logs stay until they expire
    private long now;
    private long latest;
    private long plainly;
    private long decisions;

    History(long seed, LibraryServer plain, LibraryServer general) {
      this.seed = seed;
      this.random = new SplittableRandom(seed);
      this.isUsual = chance(2);
      this.stepsBack = chance(2);
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
      long most = 1L + random.nextInt(isUsual ? 60 : 12);
      Duration span = Durations.ofMicros(SECOND + random.nextLong(100 * SECOND));
      return switch (random.nextInt(8)) {
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
              case 6 -> random.nextLong(isUsual ? SECOND : 30 * SECOND);
              default ->
                  stepsBack && chance(4)
                      ? -random.nextLong(20 * SECOND)
                      : random.nextLong(400 * SECOND);
            };
        now += step;
        latest = Math.max(latest, now);
        if (!stepsBack && chance(40)) {
          writeSomethingForeign();
        }
        call();
      }
    }

    private void writeSomethingForeign() {
      String key = Keyspace.UNKEYED.key(charge(random.nextInt(2), 1).account());
      String value = chance(2) ? "not ours" : null;
      tell("foreign " + key);
      spoiled.add(key);
      for (LibraryServer side : List.of(plain, general)) {
        String unused =
            value != null
                ? side.command("SET", key, value)
                : side.command("DEL", key) + side.command("LPUSH", key, "x");
      }
    }

    private Charge charge(int rule, long cost) {
      Identity caller = Identity.of("who", seed + "-" + random.nextInt(ACCOUNTS));
      List<Terms> known = terms.get(rule);
      Terms in = known.get(!isUsual && chance(6) ? 2 : 0);
      return new Charge(rules.get(rule), caller, in, cost);
    }

    private Operation<?> operation() {
      if (!isUsual && !receipts.isEmpty() && chance(8)) {
        Receipt receipt = receipts.get(random.nextInt(receipts.size()));
        Settlement settlement =
            new Settlement(chance(3) ? null : random.nextLong(4), Map.of(), Set.of());
        tell("settle " + receipt + " " + settlement);
        return SettleOperation.of(
            Keyspace.UNKEYED, receipt, receipt.entries(), settlement, Keyspace.CALLS);
      }
      long cost = chance(5) ? random.nextInt(5) : 1;
      cost = isUsual ? Math.max(1, cost) : cost;
      List<Charge> charges = new ArrayList<>();
      if (!chance(3)) {
        charges.add(charge(0, cost));
      }
      if (charges.isEmpty() || chance(3)) {
        charges.add(charge(1, chance(3) ? 1 + random.nextInt(3) : cost));
      }
      Intent intent =
          isUsual
              ? Intent.TAKE
              : chance(12)
                  ? Intent.PEEK
                  : chance(12) ? Intent.RECORD : chance(10) ? Intent.RESERVE : Intent.TAKE;
      String id = !isUsual && chance(12) ? seed + "-" + random.nextInt(3) : null;
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

      long moment = chance(12) ? now - random.nextLong(400 * SECOND) : now;
      List<LibraryServer.Answer> found = plain.ask(operations, now, moment);
      List<LibraryServer.Answer> expected = general.ask(operations, now, moment);

      assertThat(found.stream().map(LibraryServer.Answer::text))
          .as(told())
          .isEqualTo(expected.stream().map(LibraryServer.Answer::text).toList());
      assertThat(expected).noneMatch(LibraryServer.Answer::isPlain);
      same(plain.state(), general.state());
      for (LibraryServer.Answer answer : found) {
        decisions += answer.receipt() == null ? 0 : 1;
        plainly += answer.isPlain() ? 1 : 0;
        if (answer.receipt() != null && !answer.receipt().entries().isEmpty()) {
          receipts.add(answer.receipt());
        }
      }
    }

    /**
     * Keys and values are equal, and TTLs but for the time between the two calls. The TTL of sums
     * only has to be long enough: how long a set that becomes empty had, depends on the way.
     */
    private void same(List<String> found, List<String> expected) {
      assertThat(found).as(told()).hasSameSizeAs(expected);
      Map<String, Long> apart = new HashMap<>();
      long lives = 0;
      for (int i = 0; i < found.size(); i += 2) {
        String[] words = found.get(i).split(" ", -1);
        assertThat(found.get(i)).as(told()).isEqualTo(expected.get(i));
        if (words[1].equals("string") && !words[0].contains("!")) {
          lives = lives(HexFormat.of().parseHex(words[2]));
        }
        long ttl = Long.parseLong(found.get(i + 1));
        long less =
            words[0].endsWith("+")
                ? spoiled.stream().anyMatch(words[0]::startsWith) ? 0 : lives - latest / 1_000 - ttl
                : Math.abs(ttl - Long.parseLong(expected.get(i + 1)));
        if (less > 5_000) {
          apart.put(found.get(i), less);
        }
      }
      assertThat(apart).as("TTLs that differ, in milliseconds, after%n%s", told()).isEmpty();
    }

    /**
     * When the key of a row ends, in milliseconds, or 0 if Sluice did not write it; see row.lua.
     */
    private static long lives(byte[] row) {
      long seconds = 0;
      for (int i = row.length > row[0] + 5 ? 5 : 0; i > 0; i--) {
        seconds = 256 * seconds + (row[row[0] + i] & 0xff);
      }
      return 1_000 * seconds;
    }

    private String told() {
      return "seed " + seed + " after\n" + told.substring(Math.max(0, told.length() - MOST_TOLD));
    }

    private void tell(String what) {
      told.append(what).append('\n');
    }
  }
}
