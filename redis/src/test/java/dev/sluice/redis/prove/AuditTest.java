package dev.sluice.redis.prove;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Account;
import dev.sluice.Balance;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Rule;
import dev.sluice.RuleSource;
import dev.sluice.memory.MemoryStore;
import dev.sluice.redis.prove.Entry.Outcome;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the check behind {@code ./sluice prove}: it must find violations. */
class AuditTest {
  private static final long START = 1_700_000_000_000_000L;
  private static final List<Entry> RIGHT = history(1);

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void storeThatKeepsItsLimitsPasses(boolean cluster) {
    Audit audit = Audit.of(RIGHT, cluster);

    assertThat(audit.violations()).isEmpty();
    assertThat(audit.count(Outcome.ADMITTED)).isGreaterThan(10_000);
    assertThat(audit.explained()).isGreaterThan(10_000);
    assertThat(audit.atTheBound()).isGreaterThan(100);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void storeWithTwiceTheLimitIsFoundForEveryRule(boolean cluster) {
    Audit audit = Audit.of(history(2), cluster);

    Set<String> found =
        audit.violations().stream()
            .map(violation -> violation.what().split(":", 2)[0])
            .collect(Collectors.toSet());
    assertThat(found)
        .containsAll(Workload.RULES.all().stream().map(Rule::name).collect(Collectors.toSet()));
    assertThat(new Report(1, List.of(part(audit, List.of()))).exitCode()).isEqualTo(1);
  }

  @Test
  void denialThatNothingExplainsIsFound() {
    // As if Redis had counted calls that nobody made.
    List<Entry> entries = new ArrayList<>(RIGHT);
    entries.removeIf(entry -> entry.outcome() == Outcome.ADMITTED && entry.at() % 3 == 0);

    assertThat(Audit.of(entries, false).violations())
        .anyMatch(violation -> violation.what().contains("denied although there was room"));
  }

  @Test
  void callThatPassesALockIsFound() {
    Entry locked =
        RIGHT.stream().filter(entry -> entry.lockedUntil() != 0).findFirst().orElseThrow();
    long within = locked.lockedUntil() - 1_000;

    assertThat(
            with(new Entry(locked.ask(), Outcome.ADMITTED, within, within, within, 0)).violations())
        .anyMatch(violation -> violation.what().contains("but locked until"));
  }

  @Test
  void lockWithTwoEndsIsFound() {
    Entry locked =
        RIGHT.stream().filter(entry -> entry.lockedUntil() != 0).findFirst().orElseThrow();
    Entry other =
        new Entry(
            locked.ask(),
            Outcome.DENIED,
            locked.sent(),
            locked.received(),
            0,
            locked.lockedUntil() + 1);

    assertThat(with(other).violations())
        .anyMatch(violation -> violation.what().contains("overlap"));
  }

  @Test
  void receiptFromAnotherTimeIsFound() {
    Workload.Ask ask = new Workload.Ask(0, 999, 999, 1);

    assertThat(with(new Entry(ask, Outcome.ADMITTED, START, START + 9, START + 10, 0)).violations())
        .singleElement()
        .matches(violation -> violation.what().contains("answered at"));
  }

  @Test
  void errorInsteadOfAnAnswerIsFound() {
    Workload.Ask ask = new Workload.Ask(0, 999, 999, 1);

    assertThat(with(new Entry(ask, Outcome.ERROR, START, START + 9, 0, 0)).violations())
        .singleElement()
        .matches(violation -> violation.what().contains("an error instead of an answer"));
  }

  @Test
  void accountThatCountedLessOrMoreThanItsCallersSawIsFound() {
    Workload.Ask ask = new Workload.Ask(5, 999, 999, 3);
    Account account = new Account("everFixed", Identity.of("member", "m999"));
    Limit limit = Workload.RULES.find("everFixed").terms().limits().get(0);
    List<Entry> entries =
        List.of(
            new Entry(ask, Outcome.ADMITTED, START, START, START, 0),
            new Entry(ask, Outcome.POLICY, START, START, 0, 0));

    for (int counted = 0; counted < 10; counted++) {
      Audit audit = Audit.of(entries, false);
      audit.checkCounted(account, limit, counted);
      assertThat(audit.violations()).hasSize(counted < 3 || counted > 6 ? 1 : 0);
    }
  }

  @Test
  void runThatWasNotAsItShouldBeIsNoEvidence() {
    Audit good = Audit.of(RIGHT, false);

    assertThat(new Report(1, List.of(part(good, List.of()))).exitCode()).isZero();
    assertThat(new Report(1, List.of(part(good, List.of("a clock was set")))).exitCode())
        .isEqualTo(3);
  }

  @Test
  void seedRepeatsTheSequenceOfFaults() {
    assertThat(faults(5)).isEqualTo(faults(5)).isNotEqualTo(faults(6));
    assertThat(faults(5).subList(0, 9).stream().map(Faults.Fault::kind))
        .containsExactlyInAnyOrder(Faults.Kind.values());
  }

  private static List<Faults.Fault> faults(long seed) {
    Random random = new Random(seed);
    return IntStream.range(0, 3)
        .mapToObj(i -> Faults.round(random, true))
        .flatMap(List::stream)
        .toList();
  }

  private static Part part(Audit audit, List<String> strange) {
    return new Part("a run", START, java.time.Duration.ZERO, List.of(), audit, 0, strange);
  }

  private static Audit with(Entry one) {
    List<Entry> entries = new ArrayList<>(RIGHT);
    entries.add(one);
    return Audit.of(entries, false);
  }

  /** A minute and a half of calls on a store whose limits are {@code times} what is promised. */
  private static List<Entry> history(long times) {
    SplittableRandom random = new SplittableRandom(11);
    long[] now = {START};
    InstantSource clock = () -> Instant.EPOCH.plus(now[0], ChronoUnit.MICROS);
    List<Entry> entries = new ArrayList<>();
    try (Limiter limiter =
        Limiter.builder(MemoryStore.create(clock), RuleSource.fixed(Workload.rules(times)))
            .clock(clock)
            .build()) {
      while (now[0] < START + 90_000_000) {
        now[0] += random.nextInt(1_300);
        Workload.Ask ask = Workload.next(random, now[0] - START);
        Decision decision = limiter.decide(ask.call());
        long sent = now[0] - random.nextInt(2_000);
        long received = now[0] + random.nextInt(2_000);
        if (decision instanceof Decision.Allowed allowed) {
          long at = allowed.receipt().takenAtMicros();
          entries.add(new Entry(ask, Outcome.ADMITTED, sent, received, at, 0));
        } else {
          long locked =
              decision.balances().stream().mapToLong(Balance::lockedUntilMicros).max().orElse(0);
          entries.add(new Entry(ask, Outcome.DENIED, sent, received, 0, locked));
        }
      }
    }
    return entries;
  }
}
