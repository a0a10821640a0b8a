package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.sluice.Account;
import dev.sluice.Call;
import dev.sluice.Identity;
import dev.sluice.Limiter;
import dev.sluice.RuleSource;
import dev.sluice.memory.MemoryStore;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.rules.KeptOverride;
import dev.sluice.rules.RuleFiles;
import dev.sluice.rules.Until;
import dev.sluice.store.SharedData;
import dev.sluice.store.Store;
import dev.sluice.testing.Needs;
import dev.sluice.traffic.Reporter;
import dev.sluice.traffic.Traffic;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** The console with 100,000 locks, 1,000 rules, 10,000 overrides and a million clients. */
class ConsoleScaleIT {
  private static final int LOCKS = 100_000;
  private static final int RULES = 1_000;
  private static final int CLIENTS = 1_000_000;
  private static final int CHANGES = 10_000;
  private static final int IN_FLIGHT = 512;
  private static final int TIMES = 5;
  private static final List<String> NAMES =
      IntStream.range(0, RULES).mapToObj("R%04d"::formatted).toList();
  private static final Duration LONG = Duration.ofSeconds(20);

  /** Several times what any page takes, so that a busy machine keeps it. */
  private static final Duration SECOND = Duration.ofSeconds(1);

  /** As docs/console.md states it. */
  private static final long MOST_HEAP = 32L << 20;

  private static long usedHeap() {
    for (int i = 0; i < 3; i++) {
      System.gc();
    }
    return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
  }

  @Nested
  class OnRedis extends Scale {
    private RedisProcess redis;

    @Override
    Store open() {
      redis = RedisProcess.start(RedisProcess.newest());
      return Stores.open(redis.uri(), LONG, 2, true, false, true, fault -> {});
    }

    @Override
    void close() {
      redis.close();
    }
  }

  @Nested
  class InMemory extends Scale {
    @Override
    Store open() {
      return MemoryStore.create();
    }
  }

  @TestInstance(TestInstance.Lifecycle.PER_CLASS)
  abstract static class Scale {
    private Sluice sluice;
    private Reporter reporter;
    private long heapBefore;
    private ConsoleSession console;

    abstract Store open();

    void close() {}

    // ---- Much of everything -------------------------------------------------------------------

    @BeforeAll
    void fill() {
      Store store = open();
      SharedData data = store.sharedData();
      each(LOCKS, i -> store.lock(account(i), Duration.ofHours(1).plusSeconds(i), "ticket " + i));
      String changes = "admin override%%20changed %s login%%3Du%d none none";
      append(data, "audit", CHANGES, i -> changes.formatted(rule(i), i));
      String refusals = "refusal %d node %s login%%3Du%d 2%%20per%%2010m 1000 false";
      append(data, "refusals", 2_000, i -> refusals.formatted(1_000_000 + i, rule(i), i % 50));
      append(data, "history", 24 * 60 - 1, ConsoleScaleIT::minute);
      each(
          KeptOverride.MOST,
          i -> data.putEntry("overrides", "o" + i, override(i).stored(), KeptOverride.MOST));
      sluice = Sluice.start(Sluice.patient(10_000), rules(), store);
      console = ConsoleSession.begin(sluice, Sluice.TOKEN);
      Until.within(
          LONG, "overrides in force", () -> get("rules").json().toString().contains("u9049"));
      heapBefore = usedHeap();
      // A second node. It shares its summary by the store, but counts a million clients by itself.
      reporter = Reporter.start(Traffic.create(), store, "library");
      Limiter node =
          Limiter.builder(
                  MemoryStore.create(InstantSource.system(), 10_000),
                  RuleSource.fixed(RuleFiles.parse("rules.yaml", ConsoleScaleIT.rules())))
              .listener(reporter.traffic())
              .build();
      each(CLIENTS, i -> node.decideAsync(Call.of(rule(i), Identity.of("login", "u" + i))));
      // Some call again, so that all limits refuse somebody.
      for (int time = 0; time < 3; time++) {
        each(
            2 * RULES,
            i -> node.decideAsync(Call.of(rule(i), Identity.of("login", "often" + i % 1_000))));
      }
    }

    @AfterAll
    void stop() {
      sluice.close();
      reporter.close();
      close();
    }

    // ---- Asking -------------------------------------------------------------------------------

    private Sluice.Answer get(String path) {
      return console.get(path);
    }

    /** Asks several times, prints how long that took, and how much came back. */
    private JsonNode ask(String path, int mostBytes) {
      Sluice.Answer answer = get(path);
      long[] micros = new long[TIMES];
      for (int i = 0; i < TIMES; i++) {
        long start = System.nanoTime();
        answer = get(path);
        micros[i] = (System.nanoTime() - start) / 1_000;
      }
      int bytes = answer.response().body().length();
      check("%-40s %,9d bytes".formatted(path, bytes), micros);
      assertThat(answer.status()).as(path).isEqualTo(200);
      assertThat(bytes).as("bytes of " + path).isLessThan(mostBytes);
      return answer.response().body().startsWith("at,") ? null : answer.json();
    }

    /** Prints how long something took each time. Also the slowest is within a second. */
    private void check(String what, long[] micros) {
      Arrays.sort(micros);
      System.out.printf(
          "%-9s %s, median of %d: %,.1f ms, slowest %,.1f ms%n",
          getClass().getSimpleName(),
          what,
          micros.length,
          micros[micros.length / 2] / 1e3,
          micros[micros.length - 1] / 1e3);
      assertThat(Duration.ofNanos(micros[micros.length / 2] * 1_000)).as(what).isLessThan(SECOND);
    }

    /** With all pages seen. The rules and overrides are there before, and the pages come beside. */
    @Test
    void theHeapGrowsByLessThanTheDocsState() throws IOException {
      for (String page :
          List.of("overview", "series", "clients", "client?identity=login%3Du1", "locks")) {
        assertThat(get(page).status()).as(page).isEqualTo(200);
      }
      for (String page : List.of("overrides", "rules", "audit", "series?range=24h")) {
        assertThat(get(page).status()).as(page).isEqualTo(200);
      }

      long grown = usedHeap() - heapBefore;

      System.out.printf(
          "%-9s heap grown by %,d KiB with %,d clients and every page%n",
          getClass().getSimpleName(), grown >> 10, CLIENTS);
      assertThat(grown).isLessThan(MOST_HEAP);
      assertThat(Files.readString(Path.of("../docs/console.md")))
          .contains((MOST_HEAP >> 20) + " MiB");
    }

    /** From the click to the rows, with what the browser does. */
    @Test
    @Needs({"chromium", "chromedriver"})
    void everyPageIsDrawnWithinASecond(@TempDir Path profile) {
      String show =
          """
          const [route, css, done] = arguments;
          const start = performance.now();
          location.hash = route;
          const look = () => document.querySelector(css)
            ? done(Math.round(1000 * (performance.now() - start))) : requestAnimationFrame(look);
          look();
          """;
      Map<String, String> pages = new LinkedHashMap<>();
      pages.put("overview", ".rules-card tbody tr");
      pages.put("clients", ".clients-card tbody tr");
      pages.put("client?identity=login%3Du1", ".accounts-card tbody tr");
      pages.put("locks", ".locks-card tbody tr");
      pages.put("overrides", ".overrides-card tbody tr");
      pages.put("rules", ".rule-list li");
      pages.put("audit", ".audit-card tbody tr");
      try (Browser browser = Browser.start(profile, sluice)) {
        browser.signIn(Sluice.TOKEN);
        browser.awaitText(".pulse", "Live");
        pages.forEach(
            (route, css) -> {
              long[] micros = new long[TIMES];
              for (int i = -1; i < TIMES; i++) {
                browser.go("live");
                browser.awaitTrue(
                    "the other page", "return !document.querySelector(arguments[0])", css);
                Object taken = browser.driver().executeAsyncScript(show, "#/" + route, css);
                micros[Math.max(0, i)] = (Long) taken; // the first one only warms up
              }
              check("%-58s".formatted("in the browser: " + route), micros);
            });
      }
    }

    @Test
    void theOverviewAddsUpAMillionClients() {
      long calls = CLIENTS + 3 * 2L * RULES;
      Until.within(
          LONG,
          "the summary of all calls",
          () -> get("overview").json().path("totals").path("calls").asLong() >= calls);

      JsonNode overview = ask("overview", 49_152);

      assertThat(overview.path("totals").path("calls").asLong()).isEqualTo(calls);
      assertThat(overview.path("rulesInForce").asInt()).isEqualTo(RULES);
      assertThat(overview.path("rules")).hasSize(50);
      assertThat(overview.path("limits")).hasSize(20);
      assertThat(ask("series?range=15m", 65_536).path("allowed")).hasSize(450);
      assertThat(ask("series?range=24h", 131_072).path("allowed")).hasSize(1_440);
      assertThat(ask("series?range=24h&rule=R0001", 131_072).path("allowed")).hasSize(1_440);
    }

    @Test
    void listsOfClientsAreBounded() {
      Until.within(LONG, "clients", () -> !get("clients").json().path("clients").isEmpty());

      // Of a million clients that called once, a node remembers some hundred, by chance fewer.
      assertThat(ask("clients", 32_768).path("clients").size()).isBetween(1, 100);
      assertThat(ask("clients?sort=refused&limit=200", 65_536).path("clients").size())
          .isBetween(1, 200);
    }

    @Test
    void aClientThatAThousandRulesCount() {
      JsonNode client = ask("client?identity=login%3Du1&limit=50", 65_536);

      // Every rule has two limits, but the client's override of one rule has one.
      assertThat(client.path("accounts")).hasSize(2 * 50 - 1);
      assertThat(client.path("rules").asInt()).isEqualTo(RULES);
      assertThat(client.path("next").asText()).isEqualTo(rule(49));
      assertThat(client.path("overrides")).hasSize(1);
    }

    @Test
    void pagesOfLocksHaveNoMoreThanTheirLimit() {
      JsonNode first = ask("locks", 32_768);
      assertThat(first.path("locks")).hasSize(100);
      assertThat(first.path("total").asInt()).isEqualTo(LOCKS);
      assertThat(ask("locks?limit=1000", 262_144).path("locks")).hasSize(1_000);
      String later = "";
      for (int page = 0; page < 50; page++) {
        later = get("locks?limit=1000&after=" + later).json().path("next").asText();
      }
      JsonNode fiftieth = ask("locks?after=" + later, 32_768);
      assertThat(fiftieth.path("locks").get(0).path("reason").asText()).isEqualTo("ticket 50000");
      assertThat(ask("locks?rule=R0001", 32_768).path("total").asInt()).isEqualTo(LOCKS / RULES);
    }

    @Test
    void aSearchOfLocksSkipsNoneAndKeepsItsLimit() {
      JsonNode none = ask("locks?q=nobody", 32_768);
      assertThat(none.path("locks")).isEmpty();
      assertThat(none.path("next").asText()).isNotEmpty();
      ask("locks?q=ticket", 32_768);

      List<String> found = new ArrayList<>();
      String after = "";
      while (after != null) {
        JsonNode page = get("locks?limit=70&q=ticket%201234&after=" + after).json();
        assertThat(page.path("locks").size()).isLessThanOrEqualTo(70);
        page.path("locks").forEach(lock -> found.add(lock.path("reason").asText()));
        after = page.path("next").isNull() ? null : page.path("next").asText();
      }
      assertThat(found)
          .containsExactlyElementsOf(
              IntStream.range(0, LOCKS)
                  .mapToObj(i -> "ticket " + i)
                  .filter(reason -> reason.contains("ticket 1234"))
                  .toList());
    }

    @Test
    void listsOfOverridesRulesAndChangesAreBounded() {
      Until.within(
          LONG,
          "overrides",
          () -> get("overrides").json().path("total").asInt() == KeptOverride.MOST);

      assertThat(ask("overrides", 65_536).path("overrides")).hasSize(100);
      assertThat(ask("overrides?limit=1000", 524_288).path("overrides")).hasSize(1_000);
      assertThat(ask("overrides?q=reason%209999", 65_536).path("total").asInt()).isEqualTo(1);
      Until.within(LONG, "them in force", () -> get("rules").json().toString().contains("u9049"));
      JsonNode rules = ask("rules", 524_288);
      assertThat(rules.path("rules")).hasSize(50);
      assertThat(rules.path("total").asInt()).isEqualTo(RULES);
      assertThat(ask("rules?q=r0777", 32_768).path("rules")).hasSize(1);
      assertThat(ask("audit", 65_536).path("entries")).hasSize(100);
      assertThat(ask("audit?q=nobody", 65_536).path("entries")).isEmpty();
      assertThat(ask("audit/export?format=json", 4_194_304)).hasSize(CHANGES);
      ask("audit/export?format=csv", 4_194_304);
    }
  }

  // ---- What there is much of --------------------------------------------------------------------

  private static String rule(int i) {
    return NAMES.get(i % RULES);
  }

  private static Account account(int i) {
    return new Account(rule(i), Identity.of("login", "locked" + i));
  }

  private static String rules() {
    StringBuilder text = new StringBuilder("facets: {login: caller}\nrules:\n");
    for (int i = 0; i < RULES; i++) {
      text.append(
          "  %s: {by: [login], limits: [2 per 10m, 100 per 1d], lock: 30m, mode: %s}\n"
              .formatted(rule(i), i % 10 == 9 ? "shadow" : "enforce"));
    }
    return text.toString();
  }

  private static KeptOverride override(int i) {
    String text = "{\"when\": {\"login\": \"u%d\"}, \"limits\": [\"%d per 1h\"]}";
    return new KeptOverride(
        "o" + i, rule(i), Instant.now(), "admin", "reason " + i, text.formatted(i, 100 + i));
  }

  /** A minute of the history as a collector writes it, of 50 rules. */
  private static String minute(int i) {
    long minute = Instant.now().getEpochSecond() / 60 - 24 * 60 + 1 + i;
    StringBuilder text = new StringBuilder("minute %d\nall - 900 90 9 1 1 0\n".formatted(minute));
    for (int rule = 0; rule < 50; rule++) {
      text.append("rule %s %d 7 0 0 0 0\n".formatted(rule(rule), i));
    }
    return text.toString();
  }

  private static void append(SharedData data, String log, int entries, IntFunction<String> text) {
    for (int from = 0; from < entries; from += 1_000) {
      List<String> some =
          IntStream.range(from, Math.min(entries, from + 1_000)).mapToObj(text).toList();
      data.append(log, some, entries, Duration.ofHours(1)).toCompletableFuture().join();
    }
  }

  /** Does something this many times, some at once. */
  private static void each(int times, IntFunction<CompletionStage<?>> task) {
    Semaphore free = new Semaphore(IN_FLIGHT);
    AtomicReference<Throwable> failure = new AtomicReference<>();
    for (int i = 0; i < times; i++) {
      free.acquireUninterruptibly();
      var unused =
          task.apply(i)
              .whenComplete(
                  (done, error) -> {
                    if (error != null) {
                      failure.set(error);
                    }
                    free.release();
                  });
    }
    free.acquireUninterruptibly(IN_FLIGHT);
    assertThat(failure).hasNullValue();
  }
}
