package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.memory.MemoryStore;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Whose usage a settlement may forget. */
class ForgivingTest {
  private static final Identity ANN = Identity.of("login", "ann", "ip", "203.0.113.7");

  private final Limiter limiter =
      Limiter.owning(
          MemoryStore.create(),
          Rules.of(
              List.of(
                  Rule.builder("Login")
                      .by("login+ip", "login", "ip")
                      .limit(Limit.slidingLog(3, Duration.ofMinutes(30)))
                      .build(),
                  Rule.builder("All")
                      .by("login", Rule.EVERYONE)
                      .limit(Limit.slidingLog(3, Duration.ofMinutes(30)))
                      .build(),
                  Rule.builder("Office")
                      .by("desk", "login")
                      .limit(Limit.slidingLog(3, Duration.ofMinutes(30)))
                      .build()),
              List.of(
                  new Facet("login", Facet.Source.QUERY, "login", false),
                  new Facet("ip", Facet.Source.CLIENT_ADDRESS, "", false),
                  new Facet("desk", Facet.Source.CLIENT_ADDRESS, "", false))));

  @AfterEach
  void close() {
    limiter.close();
  }

  private Receipt reserved(String rule, Identity identity) {
    return ((Decision.Allowed) limiter.decide(Call.of(rule, identity).reserving())).receipt();
  }

  private List<Long> left() {
    return limiter.decide(Call.of("Login", ANN).peeking()).balances().stream()
        .map(Balance::remaining)
        .toList();
  }

  @Test
  void goodLoginForgetsTheFailuresOfTheLoginAndNeverThoseOfTheAddress() {
    limiter.decide("Login", ANN);
    limiter.decide("Login", ANN);
    Receipt receipt = reserved("Login", ANN);

    Settled settled = limiter.settle(receipt, Settlement.GIVEN_BACK.forgiving("login", "ip+login"));

    assertThat(settled.done()).isTrue();
    assertThat(left()).containsExactly(3L, 3L, 1L);
  }

  @Test
  void addressAloneIsNeverForgivenWhateverItsFacetIsCalled() {
    Receipt login = reserved("Login", ANN);
    Receipt office = reserved("Office", Identity.of("desk", "203.0.113.7", "login", "ann"));

    assertRefused(login, "ip", "forgive: 'ip' is the client's address alone");
    assertRefused(office, "desk", "forgive: 'desk' is the client's address alone");
    assertThat(left()).containsExactly(2L, 2L, 2L);
  }

  @Test
  void addressThatTheCallerSuppliesIsNeverForgivenEither() {
    Rules rules =
        Rules.of(
            List.of(
                Rule.builder("Login")
                    .by("ip")
                    .limit(Limit.slidingLog(3, Duration.ofHours(1)))
                    .build()),
            List.of(new Facet("ip", Facet.Source.CALLER, "", false)));
    try (Limiter own = Limiter.owning(MemoryStore.create(), rules)) {
      Receipt receipt =
          ((Decision.Allowed) own.decide(Call.of("Login", ANN).reserving())).receipt();

      assertThatThrownBy(() -> own.settleAsync(receipt, Settlement.GIVEN_BACK.forgiving("ip")))
          .hasMessageContaining("forgive: 'ip' is the client's address alone");
    }
  }

  @Test
  void accountOfEveryoneIsNeverForgiven() {
    Receipt receipt = reserved("All", ANN);

    assertRefused(receipt, "everyone", "forgive: 'everyone' is shared by all callers");
  }

  @Test
  void whatNoRuleOfTheCallCountsByCannotBeForgiven() {
    Receipt receipt = reserved("Login", ANN);

    assertRefused(
        receipt,
        "lgin",
        "forgive: no rule of the call counts by 'lgin' (expected: one of login+ip, login, ip");
    assertRefused(receipt, "", "forgive: no rule of the call counts by ''");
    assertThat(left()).containsExactly(2L, 2L, 2L);
  }

  @Test
  void facetThatTheCallDidNotHaveCanBeNamed() {
    Rules rules =
        Rules.of(
            Rule.builder("Login")
                .by("login", "device")
                .missing(Rule.Missing.SKIP)
                .limit(Limit.slidingLog(3, Duration.ofMinutes(30)))
                .build());
    try (Limiter skipping = Limiter.owning(MemoryStore.create(), rules)) {
      Decision decision = skipping.decide(Call.of("Login", Identity.of("login", "ann")));
      Receipt receipt = ((Decision.Allowed) decision).receipt();

      Settlement both = new Settlement(0L, Map.of(), Set.of("login", "device"));
      assertThat(skipping.settle(receipt, both).done()).isTrue();
    }
  }

  @Test
  void receiptOfARuleThatIsGoneForgivesByItsOwnAccounts() {
    Rules before = limiter.rules();
    AtomicReference<Rules> inForce = new AtomicReference<>(before);
    RuleSource source = inForce::get;
    try (Limiter changing = Limiter.owning(MemoryStore.create(), source)) {
      changing.decide("Login", ANN);
      Receipt receipt =
          ((Decision.Allowed) changing.decide(Call.of("Login", ANN).reserving())).receipt();
      inForce.set(Rules.of(List.of(), List.copyOf(before.facets().values())));

      assertThatThrownBy(
              () -> changing.settle(receipt, Settlement.GIVEN_BACK.forgiving("login", "ip")))
          .hasMessageStartingWith("forgive: 'ip' is the client's address alone");
      assertThatThrownBy(() -> changing.settle(receipt, Settlement.GIVEN_BACK.forgiving("lgin")))
          .hasMessage(
              "forgive: no rule of the call counts by 'lgin' (expected: one of ip+login, login, ip)");
      Settlement good = Settlement.GIVEN_BACK.forgiving("login", "login+ip");
      assertThat(changing.settle(receipt, good).done()).isTrue();

      inForce.set(before);
      assertThat(changing.decide(Call.of("Login", ANN).peeking()).balances())
          .extracting(Balance::remaining)
          .containsExactly(3L, 3L, 2L);
    }
  }

  private void assertRefused(Receipt receipt, String forgiven, String why) {
    assertThatThrownBy(
            () -> limiter.settleAsync(receipt, Settlement.GIVEN_BACK.forgiving(forgiven)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith(why);
  }
}
