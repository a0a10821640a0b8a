package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.internal.Durations;
import java.time.Duration;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Every bad input is a clear error: its name, its value, what was expected. */
class BadInputTest {
  private static final Duration SECOND = Duration.ofSeconds(1);
  private static final Identity ANN = Identity.of("member", "ann");

  private static Arguments bad(String what, ThrowingCallable call, String message) {
    return Arguments.of(what, call, message);
  }

  static Stream<Arguments> limits() {
    return Stream.of(
        bad("fixed 0", () -> Limit.fixedWindow(0, SECOND), "limit: 0 (expected: at least 1)"),
        bad("log 0", () -> Limit.slidingLog(0, SECOND), "limit: 0 (expected: at least 1)"),
        bad("sliding 0", () -> Limit.slidingWindow(0, SECOND), "limit: 0 (expected: at least 1)"),
        bad(
            "bucket 0",
            () -> Limit.tokenBucket(0, 1, SECOND),
            "capacity: 0 (expected: at least 1)"),
        bad("refill 0", () -> Limit.tokenBucket(1, 0, SECOND), "refill: 0 (expected: at least 1)"),
        bad("negative", () -> Limit.fixedWindow(-5, SECOND), "limit: -5 (expected: at least 1)"),
        bad(
            "too large",
            () -> Limit.fixedWindow((1L << 52) + 1, SECOND),
            "limit: 4503599627370497 (expected: at most 4503599627370496)"),
        bad(
            "log too large",
            () -> Limit.slidingLog(1_000_001, SECOND),
            "limit: 1000001 (expected: at most 1000000 for a sliding log;"
                + " a sliding window has no such bound)"),
        bad(
            "capacity x period",
            () -> Limit.tokenBucket(1L << 33, 1, SECOND),
            "capacity × per: 8589934592 × 1s (expected: at most 2^52 microseconds in all)"));
  }

  static Stream<Arguments> durations() {
    Duration third = SECOND.dividedBy(3);
    Duration overflowing = Duration.ofSeconds(Long.MAX_VALUE);
    return Stream.of(
        bad("zero", () -> Limit.slidingLog(1, Duration.ZERO), "per: 0s (expected: longer than 0)"),
        bad(
            "negative",
            () -> Limit.fixedWindow(1, SECOND.negated()),
            "per: PT-1S (expected: longer than 0)"),
        bad(
            "overflowing",
            () -> Limit.fixedWindow(1, overflowing),
            "per: PT2562047788015215H30M7S (expected: at most 3660d)"),
        bad(
            "overflowing bucket",
            () -> Limit.tokenBucket(1, 1, overflowing),
            "per: PT2562047788015215H30M7S (expected: at most 3660d)"),
        bad(
            "overflowing sliding window",
            () -> Limit.slidingWindow(1, overflowing),
            "per: PT2562047788015215H30M7S (expected: at most 3660d)"),
        bad(
            "negative sliding window",
            () -> Limit.slidingWindow(1, SECOND.negated()),
            "per: PT-1S (expected: longer than 0)"),
        bad(
            "below a microsecond",
            () -> Limit.slidingLog(1, third),
            "per: PT0.333333333S (expected: whole microseconds)"),
        bad(
            "precision above the window",
            () -> Limit.slidingWindow(1, SECOND, Duration.ofSeconds(2)),
            "precision: 2s (expected: at most the window, 1s)"),
        bad(
            "precision zero",
            () -> Limit.slidingWindow(1, SECOND, Duration.ZERO),
            "precision: 0s (expected: longer than 0)"),
        bad(
            "precision too fine",
            () -> Limit.slidingWindow(1, SECOND, Duration.ofNanos(1_000)),
            "precision: 1us (expected: at least a 3,600th of the window, 1s)"),
        bad(
            "no lock",
            () -> new Lock(List.of(), SECOND),
            "lock: [] (expected: at least one" + " duration)"),
        bad("lock of 0", () -> Lock.of(Duration.ZERO), "lock: 0s (expected: longer than 0)"),
        bad(
            "lock memory",
            () -> new Lock(List.of(SECOND), SECOND.negated()),
            "lockMemory: PT-1S (expected: longer than 0)"),
        bad(
            "text",
            () -> Durations.parse("5 fortnights"),
            "'5 fortnights' (expected: a duration such as 500ms, 10s, 5m, 1h30m, 1d)"),
        bad("long text", () -> Durations.parse("9999999w"), "'9999999w' (expected: at most 3660d)"),
        bad(
            "anchor day",
            () -> Cycle.monthly(ZoneOffset.UTC, 32),
            "anchor: 32 (expected: a day of the month, 1 to 31)"),
        bad(
            "anchor date",
            () -> Cycle.yearly(ZoneOffset.UTC, 2, 30),
            "anchor: 02-30 (expected: a month and day such as 04-01)"));
  }

  static Stream<Arguments> identities() {
    return Stream.of(
        bad(
            "10 MB",
            () -> Identity.of("ip", "x".repeat(10_000_000)),
            "facet 'ip': 10,000,000 characters (expected: at most 1,024)"),
        bad(
            "control character",
            () -> Identity.of("ip", "a\r\nb"),
            "facet 'ip': 'a\\u000d\\u000ab' (expected: no control characters)"),
        bad(
            "control character of Latin-1",
            () -> Identity.of("ip", "a\u0085b"),
            "facet 'ip': 'a\\u0085b' (expected: no control characters)"),
        bad(
            "high surrogate alone",
            () -> Identity.of("ip", "a\uD83D"),
            "facet 'ip': 'a\\ud83d' (expected: well-formed Unicode)"),
        bad(
            "low surrogate alone",
            () -> Identity.of("ip", "\uDE00b"),
            "facet 'ip': '\\ude00b' (expected: well-formed Unicode)"),
        bad(
            "facet without a name",
            () -> Identity.of("", "x"),
            "facet name: '' (expected: a letter, then letters, digits, '_', '-' or '.', 64 at"
                + " most)"),
        bad(
            "facet of a bad name and no value",
            () -> Identity.of("a b", ""),
            "facet name: 'a b' (expected: a letter, then letters, digits, '_', '-' or '.', 64 at"
                + " most)"),
        bad(
            "facet with a plus",
            () -> Identity.of(Map.of("a+b", "x")),
            "facet name: 'a+b' (expected: a letter, then letters, digits, '_', '-' or '.', 64 at"
                + " most)"),
        bad(
            "text with one facet twice",
            () -> Identity.parse("ip=a&ip=b"),
            "identity: 'ip=a&ip=b' has 'ip' twice (expected: once)"),
        bad(
            "text that is no hash and says so",
            () -> Identity.parse("ip=%02abc"),
            "facet 'ip': '\\u0002abc' (expected: no control characters)"),
        bad(
            "text that is no UTF-8",
            () -> Identity.parse("ip=%C0%80"),
            "identity: '%C0%80' (expected: UTF-8 after %)"),
        bad(
            "text without a value",
            () -> Identity.parse("member="),
            "identity: 'member=' (expected: name=value, joined by &)"));
  }

  static Stream<Arguments> calls() {
    Call call = Call.of("test", ANN);
    return Stream.of(
        bad("cost -1", () -> call.costing(-1), "cost: -1 (expected: 0 to 2^52)"),
        bad(
            "cost of everything",
            () -> call.costing(Long.MAX_VALUE),
            "cost: 9223372036854775807 (expected: 0 to 2^52)"),
        bad("no rules", () -> Call.of(List.of(), ANN), "rules: none (expected: at least one)"),
        bad(
            "empty id",
            () -> call.withId(""),
            "id: '' (expected: 1 to 128 visible ASCII" + " characters)"),
        bad(
            "blank in an id",
            () -> call.withId("a b"),
            "id: 'a b' (expected: 1 to 128 visible" + " ASCII characters)"),
        bad(
            "umlaut in an id",
            () -> call.withId("ä"),
            "id: 'ä' (expected: 1 to 128 visible" + " ASCII characters)"),
        bad(
            "long id",
            () -> call.withId("x".repeat(129)),
            "id: '" + "x".repeat(64) + "…' (expected: 1 to 128 visible ASCII characters)"));
  }

  static Stream<Arguments> rules() {
    Rule.Builder good = Rule.builder("login").by("member").limit(Limit.slidingLog(1, SECOND));
    Rule login = good.build();
    Facet ip = new Facet("ip", Facet.Source.CLIENT_ADDRESS, "", false);
    Rules two = Rules.of(login, Rule.builder("search").limit(Limit.slidingLog(1, SECOND)).build());
    return Stream.of(
        bad(
            "no limits",
            () -> Rule.builder("login").build(),
            "rule 'login': limits: none (expected: at least one)"),
        bad(
            "bad name",
            () -> Rule.builder("a b").limit(Limit.slidingLog(1, SECOND)).build(),
            "rule: 'a b' (expected: letters, digits, '_', '-' or '.', 100 at most)"),
        bad(
            "bad facet",
            () -> Rule.builder("login").by("member+").limit(Limit.slidingLog(1, SECOND)).build(),
            "rule 'login': facet name: '' (expected: a letter, then letters, digits, '_', '-' or"
                + " '.', 64 at most)"),
        bad(
            "one identity twice",
            () -> Rule.builder("login").by("ip", "ip").limit(Limit.slidingLog(1, SECOND)).build(),
            "rule 'login': by: 'ip' twice (expected: once)"),
        bad(
            "one identity in another order",
            () -> Rule.builder("login").by("a+b", "b+a").limit(Limit.slidingLog(1, SECOND)).build(),
            "rule 'login': by: 'b+a' twice (expected: once)"),
        bad(
            "one facet twice in an identity",
            () -> Rule.builder("login").by("a+a").limit(Limit.slidingLog(1, SECOND)).build(),
            "rule 'login': by: 'a+a' (expected: each facet once)"),
        bad(
            "everyone joined with a facet",
            () ->
                Rule.builder("login").by("ip+everyone").limit(Limit.slidingLog(1, SECOND)).build(),
            "rule 'login': by: 'ip+everyone' (expected: everyone by itself; it counts all callers"
                + " together)"),
        bad(
            "facet called everyone",
            () -> new Facet("everyone", Facet.Source.PRINCIPAL, "", false),
            "facet name: 'everyone' (expected: another name; this one stands for all callers"
                + " together)"),
        bad(
            "caller who is everyone",
            () -> Identity.of("everyone", "ann"),
            "facet 'everyone': 'ann' (expected: another name; this one stands for all callers"
                + " together)"),
        bad(
            "account of everyone by a facet",
            () ->
                Rules.of(
                        Rule.builder("all")
                            .by("everyone")
                            .limit(Limit.slidingLog(1, SECOND))
                            .build())
                    .accounts("all", ANN),
            "rule 'all': the identity has [member] (expected: everyone=all, or no facets)"),
        bad(
            "exempt address that is none",
            () -> Rules.of(good.exempt(Map.of("ip", "999.1.1.1")).build()),
            "rule 'login': exempt: ip: '999.1.1.1' (expected: an address or a range, such as"
                + " 10.0.0.0/8 or 2001:db8::/32)"),
        bad(
            "two rules of one name",
            () -> Rules.of(login, login),
            "rule 'login' twice (expected: one rule of each name)"),
        bad(
            "unknown facet",
            () -> Rules.of(List.of(login), List.of(ip)),
            "rule 'login': by: the unknown facet 'member' (expected: ip)"),
        bad(
            "override for nobody",
            () -> good.override(Map.of(), null, Terms.of(Limit.slidingLog(1, SECOND))),
            "override: without 'when' (expected: the facets it is for)"),
        bad(
            "rule nearly known",
            () -> two.plan(Call.of("logni", ANN), java.time.InstantSource.system()),
            "rule 'logni': unknown (did you mean 'login'?)"),
        bad(
            "rule unknown",
            () -> two.plan(Call.of("payment", ANN), java.time.InstantSource.system()),
            "rule 'payment': unknown (expected: one of login, search)"),
        bad(
            "identity without the facet",
            () -> two.accounts("login", Identity.of("ip", "10.0.0.1")),
            "rule 'login': the identity has [ip] (expected: member)"));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource({"limits", "durations", "identities", "calls", "rules"})
  void badInputIsRefusedWithItsNameItsValueAndWhatWasExpected(
      String what, ThrowingCallable call, String message) {
    assertThatThrownBy(call)
        .as(what)
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(message);
  }

  @Test
  void largestThatIsGoodIsAccepted() {
    assertThat(Limit.fixedWindow(1L << 52, Durations.LONGEST).quota()).isEqualTo(1L << 52);
    assertThat(Limit.slidingLog(1_000_000, Durations.LONGEST).quota()).isEqualTo(1_000_000);
    assertThat(Limit.tokenBucket((1L << 52) / 1_000_000, 1L << 52, SECOND).quota())
        .isEqualTo(4_503_599_627L);
    assertThat(Limit.slidingWindow(1, SECOND, SECOND).precision()).isEqualTo(SECOND);
  }

  @Test
  void emptyFacetIsAMissingFacet() {
    assertThat(Identity.of("member", "").isEmpty()).isTrue();
    assertThat(ANN.with("member", "")).isEqualTo(Identity.of(Map.of()));
  }

  @Test
  void identityAndItsTextAreOneToOne() {
    for (String value :
        List.of("a&b=c", "a%26b", "ü ö", "\uD83D\uDE00", "x".repeat(500), "+/:@~")) {
      Identity identity = Identity.of("member", value, "ip", "10.0.0.1");

      assertThat(Identity.parse(identity.toString())).isEqualTo(identity);
      assertThat(Identity.parse(identity.toString())).hasToString(identity.toString());
    }
  }
}
