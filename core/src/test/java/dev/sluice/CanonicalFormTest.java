package dev.sluice;

import static dev.sluice.Facet.Normalization.LOWERCASE;
import static dev.sluice.Facet.Normalization.NFKC;
import static dev.sluice.Facet.Normalization.TRIM;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.internal.Text;
import dev.sluice.memory.MemoryStore;
import dev.sluice.store.Charge;
import dev.sluice.store.Plan;
import java.time.Duration;
import java.time.InstantSource;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Values that look the same are one account where their facet says so. */
class CanonicalFormTest {
  private static final InstantSource CLOCK = InstantSource.system();
  private static final Facet LOGIN = facet(false, NFKC, TRIM, LOWERCASE);
  private static final Terms TERMS = Terms.of(Limit.slidingLog(2, Duration.ofHours(1)));

  private static Facet facet(boolean secret, Facet.Normalization... steps) {
    return new Facet("login", Facet.Source.QUERY, "login", secret, Set.of(steps));
  }

  private static Rule.Builder signIn() {
    return Rule.builder("signIn").by("login").limit(TERMS.limits().get(0));
  }

  private static Rules rules(Facet facet, Rule.Builder rule) {
    return Rules.of(List.of(rule.build()), List.of(facet));
  }

  private static Identity login(String value) {
    return Identity.of("login", value);
  }

  // ---- Which values are the same --------------------------------------------------------------

  @ParameterizedTest
  @ValueSource(
      strings = {
        "Zoë",
        "ZOË",
        " zoë ",
        "zoë\u00a0",
        "\u3000zoë\u2003",
        "zoe\u0308",
        "zoe\u00ad\u0308",
        "zo\u200bë",
        "zo\u200d\u200cë\u200f",
        "\ufeffzoë",
        "z\u2060oë",
        "zoë\ufe0f",
        "zoë\u034f",
        "zo\udb40\udd00ë",
        "zo\u061cë",
        "\u202ezoë",
        "ｚｏë",
        "\ud835\udc33oë",
        "zoë\u115f",
        "zoë\uffa0",
        "zoë\u2800",
        "zoë\u2028"
      })
  void valuesThatLookTheSameAreOneAccount(String other) {
    Rules rules = rules(LOGIN, signIn());

    assertThat(rules.accounts("signIn", login(other)))
        .containsExactly(new Account("signIn", login("zoë")));
    assertThat(rules.plan(Call.of("signIn", login(other)), CLOCK).charges())
        .extracting(Charge::account)
        .containsExactly(new Account("signIn", login("zoë")));
  }

  @Test
  void otherSpellingsDoNotPassTheLimitOfALogin() {
    try (Limiter limiter = Limiter.owning(MemoryStore.create(), rules(LOGIN, signIn()))) {
      assertThat(limiter.decide("signIn", login("ann")).allowed()).isTrue();
      assertThat(limiter.decide("signIn", login("Ann")).allowed()).isTrue();

      for (String other : List.of("ANN", "ann ", " ann", "a\u00adnn", "ann" + " ".repeat(1_000))) {
        assertThat(limiter.decide("signIn", login(other)).allowed()).isFalse();
        assertThat(limiter.decide(Call.of("signIn", login(other))).allowed()).isFalse();
      }
      assertThat(limiter.decide("signIn", login("anna")).allowed()).isTrue();
    }
  }

  @Test
  void valuesThatDifferStayDifferent() {
    Rules rules = rules(LOGIN, signIn());

    for (String other : List.of("an n", "anñ", "ann;promo=b", "ann#b", "аnn", "annn")) {
      assertThat(rules.accounts("signIn", login(other)))
          .isNotEqualTo(rules.accounts("signIn", login("ann")));
    }
  }

  @Test
  void onlyTheStepsThatAreNamedAreTaken() {
    assertThat(facet(false).canonical(" Ａnn ")).isEqualTo(" Ａnn ");
    assertThat(facet(false, NFKC).canonical(" Ａnn ")).isEqualTo(" Ann ");
    assertThat(facet(false, TRIM).canonical(" Ａnn\u00a0")).isEqualTo("Ａnn");
    assertThat(facet(false, LOWERCASE).canonical(" Ａnn ")).isEqualTo(" ａnn ");
  }

  @Test
  void lowerCaseDoesNotDependOnTheLanguageOfTheMachine() {
    Locale before = Locale.getDefault();
    try {
      Locale.setDefault(Locale.forLanguageTag("tr"));

      assertThat(LOGIN.canonical("INGRID")).isEqualTo("ingrid");
    } finally {
      Locale.setDefault(before);
    }
  }

  @Test
  void sigmaIsTheSameWhereverItStandsInAWord() {
    assertThat(LOGIN.canonical("ΟΔΟΣ")).isEqualTo("οδοσ");
    assertThat(LOGIN.canonical("οδος")).isEqualTo("οδοσ");
  }

  // ---- Where it is applied --------------------------------------------------------------------

  @Test
  void exemptionsAndOverridesMatchEverySpelling() {
    Terms more = Terms.of(Limit.slidingLog(9, Duration.ofHours(1)));
    Rules rules =
        rules(
            LOGIN,
            signIn()
                .exempt(Map.of("login", "Probe "))
                .override(Map.of("login", "ACME"), null, more));

    assertThat(rules.plan(Call.of("signIn", login("PROBE")), CLOCK).charges()).isEmpty();
    assertThat(rules.plan(Call.of("signIn", login(" acme")), CLOCK).charges())
        .extracting(Charge::terms)
        .containsExactly(more);
  }

  @Test
  void operatorsReachAnAccountByAnySpelling() {
    try (Limiter limiter = Limiter.owning(MemoryStore.create(), rules(LOGIN, signIn()))) {
      limiter.lock("signIn", login("ANN"), Duration.ofHours(1), "by hand");

      assertThat(limiter.decide("signIn", login("ann")).locked()).isTrue();
      assertThat(limiter.lift("signIn", login(" Ann "))).isTrue();
      assertThat(limiter.decide("signIn", login("ann")).allowed()).isTrue();
      assertThat(limiter.reset("signIn", login("aNN"))).isTrue();
    }
  }

  @Test
  void idBelongsToTheCallerInAnySpelling() {
    Rules rules = rules(LOGIN, signIn());

    Plan one = rules.plan(Call.of("signIn", login("Ann ")).withId("a"), CLOCK);
    Plan two = rules.plan(Call.of("signIn", login("ann")).withId("a"), CLOCK);

    assertThat(one).isEqualTo(two);
  }

  @Test
  void valueThatIsEmptyInItsFormIsAMissingFacet() {
    Rules strict = rules(LOGIN, signIn());
    Rules lenient = rules(LOGIN, signIn().missing(Rule.Missing.SKIP));

    for (String blank : List.of(" ", "\u200b", "\u00a0\u00ad ")) {
      assertThatThrownBy(() -> strict.plan(Call.of("signIn", login(blank)), CLOCK))
          .hasMessage("rule 'signIn': the call has no facets (expected: login)");
      assertThatThrownBy(() -> strict.accounts("signIn", login(blank)))
          .hasMessage("rule 'signIn': the identity has no facets (expected: login)");
      assertThat(lenient.plan(Call.of("signIn", login(blank)), CLOCK).charges()).isEmpty();
    }
  }

  // ---- Before hashing -------------------------------------------------------------------------

  @Test
  void secretValueIsNormalizedBeforeItIsHashed() {
    Rules rules = rules(facet(true, NFKC, TRIM, LOWERCASE), signIn());

    List<Account> accounts = rules.accounts("signIn", login("Ann "));

    assertThat(accounts).isEqualTo(rules.accounts("signIn", login("ann")));
    assertThat(accounts.get(0).identity().facet("login")).startsWith("\u0002").hasSize(41);
  }

  @Test
  void longValueIsNormalizedBeforeItIsHashed() {
    Rules rules = rules(LOGIN, signIn());

    assertThat(rules.accounts("signIn", login("X".repeat(500) + " ")))
        .isEqualTo(rules.accounts("signIn", login("x".repeat(500))));
    assertThat(rules.accounts("signIn", login("ﷺ".repeat(1_024))).get(0).identity().facet("login"))
        .as("eighteen times as long in its form")
        .hasSize(41);
  }

  @Test
  void valueThatIsAHashAlreadyStays() {
    Rules rules = rules(facet(true, NFKC, TRIM, LOWERCASE), signIn());
    Account account = rules.accounts("signIn", login("ann")).get(0);

    assertThat(rules.accounts("signIn", Identity.parse(account.identity().toString())))
        .containsExactly(account);
  }

  // ---- Twice is once --------------------------------------------------------------------------

  @Test
  void canonicalFormOfACanonicalFormIsItself() {
    long seed = Long.getLong("sluice.fuzz.seed", 1);
    System.out.println("Canonical forms from seed " + seed + " on.");
    SplittableRandom random = new SplittableRandom(seed);
    for (int i = 0; i < 100_000; i++) {
      Facet facet = somehow(random);
      String value = randomText(random);

      String form = facet.canonical(value);

      if (!facet.canonical(form).equals(form)) {
        throw new AssertionError("seed %d, input %d: %s".formatted(seed, i, Text.quoted(value)));
      }
    }
  }

  @Test
  void canonicalFormOfEveryCharacterIsStable() {
    for (int c = 0; c <= Character.MAX_CODE_POINT; c++) {
      int type = Character.getType(c);
      if (type == Character.SURROGATE
          || type == Character.UNASSIGNED
          || type == Character.PRIVATE_USE) {
        continue;
      }
      String form = LOGIN.canonical("a" + Character.toString(c) + "\u0331\u0307b");
      if (!LOGIN.canonical(form).equals(form)) {
        throw new AssertionError("U+%04X".formatted(c));
      }
    }
  }

  private static Facet somehow(SplittableRandom random) {
    Set<Facet.Normalization> steps = new HashSet<>();
    for (Facet.Normalization step : Facet.Normalization.values()) {
      if (random.nextInt(4) > 0) {
        steps.add(step);
      }
    }
    return new Facet("login", Facet.Source.QUERY, "login", false, steps);
  }

  /** Random letters, marks, spaces and invisible characters in unusual combinations. */
  private static String randomText(SplittableRandom random) {
    int[][] ranges = {
      {0x20, 0x7e}, {0xa0, 0x24f}, {0x300, 0x36f}, {0x370, 0x5ff}, {0x1100, 0x11ff},
      {0x1e00, 0x1fff}, {0x2000, 0x206f}, {0x2100, 0x218f}, {0xac00, 0xac80}, {0xf900, 0xfaff},
      {0xfb00, 0xffef}, {0x1d400, 0x1d7ff}, {0xe0000, 0xe01ef}
    };
    StringBuilder text = new StringBuilder();
    int length = random.nextInt(1, 8);
    for (int i = 0; i < length; i++) {
      int[] range = ranges[random.nextInt(ranges.length)];
      text.appendCodePoint(random.nextInt(range[0], range[1] + 1));
    }
    return text.toString();
  }
}
