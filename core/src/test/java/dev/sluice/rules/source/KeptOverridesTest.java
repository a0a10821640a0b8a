package dev.sluice.rules.source;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Rule;
import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.contract.MovableClock;
import dev.sluice.memory.MemoryStore;
import dev.sluice.rules.KeptOverride;
import dev.sluice.rules.RuleErrors;
import dev.sluice.rules.RuleFiles;
import dev.sluice.rules.Until;
import dev.sluice.store.SharedData;
import dev.sluice.store.Store;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.Instant;
import java.util.AbstractList;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class KeptOverridesTest {
  private static final String FILE =
      """
      facets:
        login: caller
        ip: client-address
        mail: {query: mail, normalize: [trim, lowercase]}
        apiKey: {header: X-Api-Key, secret: true}
      rules:
        Api:
          by: [login]
          limit: 1 per 1h
          overrides:
            - {when: {login: ann}, limit: 2 per 1h}
            - {when: {ip: 192.0.2.0/24}, limit: 3 per 1h}
        Other: {by: [login], limit: 9 per 1h}
      """;
  private static final Rules RULES = RuleFiles.parse("rules.yaml", FILE);
  private static final Instant NOON = Instant.parse("2030-01-01T12:00:00Z");

  private final MovableClock clock = MovableClock.at(NOON);
  private final Store store = MemoryStore.create(clock);
  private final SharedData data = store.sharedData();
  private final KeptOverrides overrides = KeptOverrides.follow(data, "node-1");

  @AfterEach
  void close() {
    overrides.close();
    store.close();
  }

  private static <T> T now(CompletionStage<T> stage) {
    try {
      return stage.toCompletableFuture().get(10, TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private static KeptOverride override(String id, Instant created, String when, int limit) {
    String text = "{\"when\": {%s}, \"limit\": \"%d per 1h\"}".formatted(when, limit);
    return new KeptOverride(id, "Api", created, "rita", "", text);
  }

  private static KeptOverride forAnn(String id, Instant created, int limit) {
    return override(id, created, "\"login\": \"ann\"", limit);
  }

  private static String limit(RuleSource source, Identity identity) {
    Limiter limiter = Limiter.of(MemoryStore.create(), source);
    return limiter.inspect("Api", identity).balances().get(0).limit().toString();
  }

  private static String limitOfAnn(RuleSource source) {
    return limit(source, Identity.of("login", "ann"));
  }

  // ---- Which override applies -----------------------------------------------------------------

  @Test
  void theNewestThatMatchesAppliesAndTheOneBeforeWhenItIsGone() {
    RuleSource source = overrides.over(RuleSource.fixed(RULES));
    assertThat(now(overrides.put(forAnn("older", NOON, 5)))).isTrue();
    assertThat(now(overrides.put(forAnn("newer", NOON.plusMillis(1), 6)))).isTrue();
    assertThat(now(overrides.put(forAnn("oldest", NOON.minusMillis(1), 7)))).isTrue();

    assertThat(overrides.all())
        .extracting(KeptOverride::id)
        .containsExactly("newer", "older", "oldest");
    assertThat(limitOfAnn(source)).isEqualTo("6 per 1h");
    assertThat(now(overrides.remove("newer"))).isTrue();
    assertThat(limitOfAnn(source)).isEqualTo("5 per 1h");
    assertThat(now(overrides.remove("newer"))).isFalse();
  }

  @Test
  void theyComeBeforeTheOverridesOfTheRules() {
    RuleSource source = overrides.over(RuleSource.fixed(RULES));
    assertThat(limitOfAnn(source)).isEqualTo("2 per 1h");

    now(overrides.put(forAnn("a", NOON, 5)));

    assertThat(limitOfAnn(source)).isEqualTo("5 per 1h");
    assertThat(limit(source, Identity.of("login", "bob"))).isEqualTo("1 per 1h");
    now(overrides.remove("a"));
    assertThat(limitOfAnn(source)).isEqualTo("2 per 1h");
  }

  @Test
  void oneThatIsMadeNowIsTheNewestAlsoByAClockThatLags() {
    assertThat(overrides.created(NOON)).isEqualTo(NOON);

    now(overrides.put(forAnn("ahead", NOON.plusSeconds(60), 5)));

    assertThat(overrides.created(NOON)).isEqualTo(NOON.plusSeconds(60).plusMillis(1));
    assertThat(overrides.created(NOON.plusSeconds(90))).isEqualTo(NOON.plusSeconds(90));
  }

  @Test
  void thereAreAtMostTenThousand() {
    for (int i = 0; i < KeptOverride.MOST; i++) {
      String text = forAnn("o" + i, NOON, 5).stored();
      assertThat(now(data.putEntry("overrides", "o" + i, text, KeptOverride.MOST))).isTrue();
    }

    assertThat(now(overrides.put(forAnn("one-more", NOON, 5)))).isFalse();

    assertThat(overrides.all()).hasSize(KeptOverride.MOST);
    assertThat(now(overrides.put(forAnn("o7", NOON, 6)))).isTrue();
    assertThat(now(overrides.remove("o8"))).isTrue();
    assertThat(now(overrides.put(forAnn("one-more", NOON, 5)))).isTrue();
  }

  @Test
  void aNodeThatStartsHasThemInForceBeforeItsFirstDecision() {
    now(overrides.put(forAnn("a", NOON, 5)));

    try (KeptOverrides fresh = KeptOverrides.follow(data, "node-2")) {
      assertThat(limitOfAnn(fresh.over(RuleSource.fixed(RULES)))).isEqualTo("5 per 1h");
    }
  }

  // ---- What cannot be applied -----------------------------------------------------------------

  private void store(String id, String stored) {
    assertThat(now(data.putEntry("overrides", id, stored, KeptOverride.MOST))).isTrue();
  }

  @Test
  void anEntryThatCannotBeReadIsSkippedWithTheReasonAndTheOthersApply() {
    RuleSource source = overrides.over(RuleSource.fixed(RULES));
    store("foreign", "nobody knows");
    store("no such id!", "nobody knows");
    store("number", "x Api rita - \n{}");
    store("broken", forAnn("broken", NOON, 5).stored().replace("}", ""));
    store("ruleless", forAnn("ruleless", NOON, 5).stored().replace(" Api ", " Gone "));
    store("good", forAnn("good", NOON, 6).stored());

    now(overrides.look());

    assertThat(limitOfAnn(source)).isEqualTo("6 per 1h");
    assertThat(overrides.all())
        .extracting(KeptOverride::id)
        .containsExactlyInAnyOrder("foreign", "number", "broken", "ruleless", "good");
    assertThat(overrides.whyUnused("foreign")).isEqualTo("Sluice did not write it");
    assertThat(overrides.whyUnused("number")).isEqualTo("Sluice did not write it");
    assertThat(overrides.whyUnused("broken")).contains("override broken");
    assertThat(overrides.whyUnused("ruleless")).isEqualTo("there is no rule 'Gone'");
    assertThat(overrides.whyUnused("good")).isNull();
  }

  /** Calling code may supply a facet that is not defined although others are. */
  private static Rules withAnUndefinedAddress() {
    Rule rule =
        Rule.builder("Api").by("ip").limit(Limit.slidingLog(1, Duration.ofHours(1))).build();
    return Rules.open(
        List.of(rule),
        RULES.facets().values().stream().filter(facet -> facet.name().equals("login")).toList());
  }

  @Test
  void anAddressThatIsNoneSkipsItsOverrideAndNoCallFails() {
    RuleSource source = overrides.over(RuleSource.fixed(withAnUndefinedAddress()));
    Identity caller = Identity.of("ip", "192.0.2.7");
    now(overrides.put(override("good", NOON, "\"ip\": \"192.0.2.0/24\"", 5)));

    now(overrides.put(override("bad", NOON, "\"ip\": \"nowhere\"", 6)));

    assertThat(limit(source, caller)).isEqualTo("5 per 1h");
    assertThat(overrides.whyUnused("bad")).contains("nowhere");
    assertThat(overrides.whyUnused("good")).isNull();
  }

  @Test
  void anAddressThatIsNoneIsRefusedWhenTheOverrideIsMade() {
    Rules rules = withAnUndefinedAddress();
    String text = override("bad", NOON, "\"ip\": \"nowhere\"", 6).text();

    assertThatThrownBy(() -> RuleFiles.parseOverride("o", text, rules.find("Api"), rules))
        .isInstanceOf(RuleErrors.class)
        .hasMessageContaining("nowhere");
  }

  @Test
  void oneThatSomeRulesUseIsNotListedAsUnused() {
    RuleSource without = overrides.over(RuleSource.fixed(Rules.NONE));
    RuleSource with = overrides.over(RuleSource.fixed(RULES));

    now(overrides.put(forAnn("a", NOON, 5)));

    assertThat(overrides.whyUnused("a")).isNull();
    with.close();
    assertThat(overrides.whyUnused("a")).isEqualTo("there is no rule 'Api'");
    without.close();
  }

  @Test
  void afterAFaultTheLastRulesStayInForceAndItIsNotTriedAgainForEachCall() {
    AtomicReference<List<KeptOverride>> kept = new AtomicReference<>(List.of(forAnn("a", NOON, 5)));
    OverriddenRules source =
        new OverriddenRules(
            RuleSource.fixed(RULES), kept::get, Runnable::run, new ConcurrentHashMap<>(), c -> {});
    Rules before = source.rules();
    AtomicInteger attempts = new AtomicInteger();

    kept.set(
        new AbstractList<>() {
          @Override
          public KeptOverride get(int index) {
            attempts.incrementAndGet();
            throw new IllegalStateException("a fault of ours");
          }

          @Override
          public int size() {
            return 1;
          }
        });
    source.renew();
    source.renew();

    assertThat(source.rules()).isSameAs(before);
    assertThat(attempts).hasValue(1);
    kept.set(List.of(forAnn("a", NOON, 6)));
    source.renew();
    assertThat(limitOfAnn(source)).isEqualTo("6 per 1h");
  }

  // ---- Rules that change ----------------------------------------------------------------------

  private static Rules changed() {
    return RuleFiles.parse("rules.yaml", FILE.replace("1 per 1h", "4 per 1h"));
  }

  @Test
  void aCallNeverWaitsUntilOverridesFitChangedRules() {
    AtomicReference<Rules> file = new AtomicReference<>(RULES);
    List<KeptOverride> kept = List.of(forAnn("a", NOON, 5));
    Queue<Runnable> background = new ArrayDeque<>();
    OverriddenRules source =
        new OverriddenRules(
            file::get, () -> kept, background::add, new ConcurrentHashMap<>(), closed -> {});
    Rules before = source.rules();

    file.set(changed());

    assertThat(source.rules()).isSameAs(before);
    assertThat(source.rules()).isSameAs(before);
    assertThat(background).hasSize(1);
    background.remove().run();
    assertThat(limit(source, Identity.of("login", "bob"))).isEqualTo("4 per 1h");
    assertThat(limitOfAnn(source)).isEqualTo("5 per 1h");
    assertThat(background).isEmpty();
  }

  @Test
  void changedRulesAreInForceWithinASecondAlsoWithTenThousandOverrides() {
    for (int i = 0; i < KeptOverride.MOST; i++) {
      String when = "\"login\": \"member-%d\"".formatted(i);
      store("o" + i, override("o" + i, NOON.plusMillis(i), when, 5).stored());
    }
    now(overrides.look());
    AtomicReference<Rules> file = new AtomicReference<>(RULES);
    RuleSource source = overrides.over(file::get);
    Rule unchanged = RULES.find("Api");

    file.set(RuleFiles.parse("rules.yaml", FILE.replace("9 per 1h", "8 per 1h")));

    Until.within(
        Duration.ofSeconds(1),
        "the new limit",
        () -> source.rules().find("Other").terms().toString().equals("8 per 1h"));
    assertThat(source.rules().find("Api").overrides())
        .hasSize(KeptOverride.MOST + unchanged.overrides().size());
  }

  @Test
  void withoutOverridesChangedRulesAreInForceAtOnce() {
    AtomicReference<Rules> file = new AtomicReference<>(RULES);
    RuleSource source = overrides.over(file::get);

    file.set(changed());

    assertThat(source.rules()).isSameAs(file.get());
  }

  // ---- Whom they are for ----------------------------------------------------------------------

  private List<String> matching(Identity identity) {
    return overrides.matching(identity).stream()
        .map(each -> each.kept().map(KeptOverride::id).orElse("file " + each.special().when()))
        .toList();
  }

  @Test
  void theOverridesOfACallerAreThoseThatDecideItsCalls() {
    RuleSource source = overrides.over(RuleSource.fixed(RULES));
    String longLogin = "x".repeat(200);
    String secret = RULES.withoutSecrets(Map.of("apiKey", "key-1")).get("apiKey");
    now(overrides.put(override("range", NOON, "\"ip\": \"192.0.2.0/28\"", 5)));
    now(overrides.put(override("mail", NOON, "\"mail\": \" Ann@Example.org\"", 5)));
    now(overrides.put(override("long", NOON, "\"login\": \"%s\"".formatted(longLogin), 5)));
    now(overrides.put(override("secret", NOON, "\"apiKey\": \"%s\"".formatted(secret), 5)));
    now(overrides.put(override("both", NOON, "\"login\": \"ann\", \"ip\": \"10.0.0.1\"", 5)));
    now(overrides.put(forAnn("ann", NOON.plusMillis(1), 5)));
    String longAccount =
        source
            .rules()
            .accounts("Api", Identity.of("login", longLogin))
            .get(0)
            .identity()
            .toString();

    assertThat(matching(Identity.of("ip", "192.0.2.7")))
        .containsExactly("range", "file {ip=192.0.2.0/24}");
    assertThat(matching(Identity.of("ip", "192.0.2.77"))).containsExactly("file {ip=192.0.2.0/24}");
    assertThat(matching(Identity.of("mail", "ANN@example.org "))).containsExactly("mail");
    assertThat(matching(Identity.parse(longAccount))).containsExactly("long");
    assertThat(matching(Identity.none().withHash("apiKey", secret))).containsExactly("secret");
    assertThat(matching(Identity.of("login", "ann"))).containsExactly("ann", "file {login=ann}");
    assertThat(matching(Identity.of("login", "ann", "ip", "10.0.0.1")))
        .containsExactly("ann", "both", "file {login=ann}");
    assertThat(matching(Identity.of("login", "bob"))).isEmpty();
  }

  // ---- When they last applied -----------------------------------------------------------------

  @Test
  void whenOverridesLastAppliedIsSharedAlsoWithTheLongestIds() {
    int many = 5_000;
    String id = "%064d";
    for (int i = 0; i < many; i++) {
      String when = "\"login\": \"member-%d\"".formatted(i);
      store(id.formatted(i), override(id.formatted(i), NOON, when, 5).stored());
    }
    now(overrides.look());
    Limiter limiter = Limiter.of(store, overrides.over(RuleSource.fixed(RULES)));
    for (int i = 0; i < many; i++) {
      limiter.decide("Api", Identity.of("login", "member-" + i));
    }

    overrides.shareApplied();

    assertThat(now(overrides.lastApplied())).hasSizeGreaterThan(3_000);
  }

  /** The data, of which a node may not announce anything. */
  private SharedData withoutAnnouncements() {
    return (SharedData)
        Proxy.newProxyInstance(
            SharedData.class.getClassLoader(),
            new Class<?>[] {SharedData.class},
            (proxy, method, arguments) ->
                method.getName().equals("announce")
                    ? CompletableFuture.failedFuture(new IllegalStateException("no right"))
                    : method.invoke(data, arguments));
  }

  @Test
  void thatItCannotBeSharedWhenOverridesAppliedIsSaidOnce() {
    now(overrides.put(forAnn("a", NOON, 5)));
    Logger logger = (Logger) LoggerFactory.getLogger(KeptOverrides.class);
    ListAppender<ILoggingEvent> log = new ListAppender<>();
    log.start();
    logger.addAppender(log);
    try (KeptOverrides node = KeptOverrides.follow(withoutAnnouncements(), "node-2")) {
      Limiter limiter = Limiter.of(store, node.over(RuleSource.fixed(RULES)));
      limiter.decide("Api", Identity.of("login", "ann"));

      node.shareApplied();
      now(node.look());
      node.shareApplied();
    } finally {
      logger.detachAppender(log);
    }

    assertThat(log.list)
        .extracting(ILoggingEvent::getFormattedMessage)
        .containsExactly("Cannot tell other nodes when overrides last applied: no right");
  }
}
