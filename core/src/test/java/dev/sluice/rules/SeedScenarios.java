package dev.sluice.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limiter;
import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.rules.source.PolledRules;
import dev.sluice.store.Store;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The six uses that the seeds describe, each from a rule file to the decision.
 *
 * <p>Every store runs them: extend this class and open the store.
 */
public abstract class SeedScenarios {
  private static final Instant START = Instant.parse("2025-03-01T12:00:00Z");

  private final Clock clock = new Clock();
  private Limiter limiter;

  /** An empty store that follows the given clock, to the microsecond. Closed after each test. */
  protected abstract Store open(InstantSource clock);

  /** A clock that stands still until it is moved. */
  private static final class Clock implements InstantSource {
    private final AtomicReference<Instant> now = new AtomicReference<>(START);

    @Override
    public Instant instant() {
      return now.get();
    }
  }

  @AfterEach
  void close() {
    limiter.close();
  }

  // ---- 1. Bank account: by member and by address ----------------------------------------------

  @ParameterizedTest
  @ValueSource(strings = {"rules.yaml", "seed-rules.xml"})
  void anotherAccountDoesNotGetAroundTheAddress(String file) {
    limitBy(example(file));

    assertThat(asks("BankAccountUpdate", "member", "ann", "ip", "192.0.2.1")).isTrue();
    assertThat(asks("BankAccountUpdate", "member", "ann", "ip", "192.0.2.1")).isTrue();
    assertThat(asks("BankAccountUpdate", "member", "ben", "ip", "192.0.2.1")).isFalse();
    assertThat(asks("BankAccountUpdate", "member", "ann", "ip", "198.51.100.7")).isFalse();
  }

  @ParameterizedTest
  @ValueSource(strings = {"rules.yaml", "seed-rules.xml"})
  void whoIsDeniedForTheAddressKeepsTheirOwnTries(String file) {
    limitBy(example(file));
    asks("BankAccountUpdate", "member", "ann", "ip", "192.0.2.1");
    asks("BankAccountUpdate", "member", "ann", "ip", "192.0.2.1");
    asks("BankAccountUpdate", "member", "ben", "ip", "192.0.2.1");

    assertThat(asks("BankAccountUpdate", "member", "ben", "ip", "203.0.113.5")).isTrue();
    assertThat(asks("BankAccountUpdate", "member", "ben", "ip", "203.0.113.5")).isTrue();
    assertThat(asks("BankAccountUpdate", "member", "ben", "ip", "203.0.113.5")).isFalse();
  }

  @ParameterizedTest
  @ValueSource(strings = {"rules.yaml", "seed-rules.xml"})
  void anUpdateComesBackExactlyTwoMinutesLater(String file) {
    limitBy(example(file));
    asks("BankAccountUpdate", "member", "ann", "ip", "192.0.2.1");
    pass(Duration.ofSeconds(50));
    asks("BankAccountUpdate", "member", "ann", "ip", "192.0.2.1");

    at(START.plusSeconds(120).minusNanos(1_000));
    assertThat(asks("BankAccountUpdate", "member", "ann", "ip", "192.0.2.1")).isFalse();
    at(START.plusSeconds(120));
    assertThat(asks("BankAccountUpdate", "member", "ann", "ip", "192.0.2.1")).isTrue();
    assertThat(asks("BankAccountUpdate", "member", "ann", "ip", "192.0.2.1")).isFalse();
  }

  // ---- 2. Forgotten password: three tries, then locked ----------------------------------------

  @Test
  void fourthTryLocksForHalfAnHourToTheMicrosecond() {
    limitBy(example("seed-rules.xml"));
    for (int i = 0; i < 3; i++) {
      assertThat(asks("SecureForgotAccount", "login", "ann@mail.example")).isTrue();
      pass(Duration.ofMinutes(1));
    }
    Instant end = START.plus(Duration.ofMinutes(33));

    Decision fourth = decide("SecureForgotAccount", "login", "ann@mail.example");
    assertThat(fourth.allowed()).isFalse();
    assertThat(fourth.restrictedUntil()).isEqualTo(Optional.of(end));
    assertThat(fourth.retryAfter()).contains(Duration.ofMinutes(30));

    at(end.minusNanos(1_000));
    Decision tooEarly = decide("SecureForgotAccount", "login", "ann@mail.example");
    assertThat(tooEarly.allowed()).isFalse();
    assertThat(tooEarly.restrictedUntil()).isEqualTo(Optional.of(end));
    assertThat(tooEarly.retryAfter()).contains(Duration.ofNanos(1_000));

    at(end);
    assertThat(asks("SecureForgotAccount", "login", "ann@mail.example")).isTrue();
  }

  @Test
  void thirdTryLocksForHalfAnHourWhereTheRuleLocksOnItsLimit() {
    limitBy(example("rules.yaml"));
    for (int i = 0; i < 2; i++) {
      assertThat(forgotten("ann", "192.0.2.1").locked()).isFalse();
      pass(Duration.ofMinutes(1));
    }
    Instant end = START.plus(Duration.ofMinutes(32));

    Decision third = forgotten("ann", "192.0.2.1");
    assertThat(third.allowed()).isTrue();
    assertThat(third.restrictedUntil()).isEqualTo(Optional.of(end));

    at(end.minusNanos(1_000));
    Decision tooEarly = forgotten("ann", "192.0.2.1");
    assertThat(tooEarly.allowed()).isFalse();
    assertThat(tooEarly.retryAfter()).contains(Duration.ofNanos(1_000));

    at(end);
    assertThat(forgotten("ann", "192.0.2.1").allowed()).isTrue();
  }

  @Test
  void lockOfOneLoginIsNobodyElses() {
    limitBy(example("seed-rules.xml"));
    for (int i = 0; i < 4; i++) {
      asks("SecureForgotAccount", "login", "ann@mail.example");
    }

    assertThat(asks("SecureForgotAccount", "login", "ben@mail.example")).isTrue();
  }

  @Test
  void strangerLocksNobodyOutFromAnotherAddress() {
    limitBy(example("rules.yaml"));
    for (int i = 0; i < 3; i++) {
      forgotten("ann", "203.0.113.66");
    }

    assertThat(forgotten("ann", "203.0.113.66").allowed()).isFalse();
    assertThat(forgotten("ann", "192.0.2.1").allowed()).isTrue();
    assertThat(forgotten("ben", "203.0.113.66").allowed()).isTrue();
  }

  private Decision forgotten(String login, String ip) {
    return decide("SecureForgotAccount", "login", login, "ip", ip);
  }

  // ---- 3. MFA resend: settings of a backend, changed while it runs ----------------------------

  /** What the backend answers: tries in a window, then a cool-down. */
  private record OtpConfig(int mostAttempts, int windowMinutes, int cooldownMinutes) {
    Rules rules() {
      return RuleFiles.parse(
          "backend.yaml",
          """
          rules:
            LoginVerification_Resend:
              by: [account]
              limit: %d per %dm
              lock: %dm
          """
              .formatted(mostAttempts, windowMinutes, cooldownMinutes));
    }
  }

  @Test
  void settingsOfTheBackendChangeWhileItRuns() {
    AtomicReference<OtpConfig> backend = new AtomicReference<>(new OtpConfig(3, 10, 5));
    limitBy(PolledRules.every(Duration.ofMillis(5), () -> backend.get().rules()));
    for (int i = 0; i < 3; i++) {
      assertThat(asks("LoginVerification_Resend", "account", "1001")).isTrue();
    }
    assertThat(decide("LoginVerification_Resend", "account", "1001").retryAfter())
        .as("until there is room, which is after the cool-down")
        .contains(Duration.ofMinutes(10));

    backend.set(new OtpConfig(5, 10, 1));
    until(() -> limiter.rules().equals(backend.get().rules()));

    assertThat(asks("LoginVerification_Resend", "account", "1001")).as("still locked").isFalse();
    pass(Duration.ofMinutes(5));
    assertThat(asks("LoginVerification_Resend", "account", "1001")).as("4 of 5").isTrue();
    assertThat(asks("LoginVerification_Resend", "account", "1001")).as("5 of 5").isTrue();
    assertThat(decide("LoginVerification_Resend", "account", "1001").restrictedUntil())
        .as("the new cool-down")
        .isEqualTo(Optional.of(START.plus(Duration.ofMinutes(6))));
  }

  @Test
  void lastGoodSettingsHoldWhileTheBackendFails() {
    AtomicBoolean down = new AtomicBoolean();
    RuleSource source =
        PolledRules.every(
            Duration.ofMillis(5),
            () -> {
              if (down.get()) {
                throw new IllegalStateException("503 from the backend");
              }
              return new OtpConfig(3, 10, 5).rules();
            });
    limitBy(source);
    down.set(true);
    until(() -> source.failure().isPresent());

    for (int i = 0; i < 3; i++) {
      assertThat(asks("LoginVerification_Resend", "account", "1001")).isTrue();
    }
    assertThat(asks("LoginVerification_Resend", "account", "1001")).isFalse();
  }

  // ---- 4. Login attack: locked for a day ------------------------------------------------------

  @Test
  void attackerIsLockedOutForADayHoweverOftenItRetries() {
    limitBy(example("seed-rules.xml"));
    assertThat(asks("SecureLoginForceForgotAccount", "login", "ann")).isTrue();
    assertThat(asks("SecureLoginForceForgotAccount", "login", "ann")).isTrue();
    pass(Duration.ofHours(1));
    Instant end = START.plus(Duration.ofHours(25));

    for (int i = 0; i < 24; i++) {
      Decision retry = decide("SecureLoginForceForgotAccount", "login", "ann");
      assertThat(retry.allowed()).isFalse();
      assertThat(retry.restrictedUntil()).isEqualTo(Optional.of(end));
      pass(Duration.ofHours(1).minusNanos(1_000));
    }

    at(end);
    assertThat(asks("SecureLoginForceForgotAccount", "login", "ann")).isTrue();
  }

  @Test
  void lockGrowsWhenItIsEarnedAgainWithinADay() {
    limitBy(example("rules.yaml"));

    assertThat(lockEarned()).isEqualTo(Duration.ofMinutes(10));
    pass(Duration.ofMinutes(10));
    assertThat(lockEarned()).isEqualTo(Duration.ofHours(1));
    pass(Duration.ofHours(1));
    assertThat(lockEarned()).isEqualTo(Duration.ofHours(24));
  }

  /** Five tries, all of which pass; the fifth locks. */
  private Duration lockEarned() {
    for (int i = 0; i < 4; i++) {
      assertThat(decide("SecureLogin", "login", "ann", "ip", "192.0.2.1").locked()).isFalse();
    }
    Decision fifth = decide("SecureLogin", "login", "ann", "ip", "192.0.2.1");
    assertThat(fifth.allowed()).isTrue();
    return Duration.between(clock.instant(), fifth.restrictedUntil().orElseThrow());
  }

  @Test
  void loginFormAsksByLoginAndAddressThenByAddressThenByLogin() {
    limitBy(example("rules.yaml"));
    List<String> guard = List.of("SecureLogin", "SecureLoginAddress", "SecureLoginAccount");

    for (int i = 0; i < 50; i++) {
      assertThat(tries(guard, "user" + i, "203.0.113.66")).as("account %d", i).isTrue();
    }
    assertThat(tries(guard, "one-more", "203.0.113.66")).as("the address is locked").isFalse();
    assertThat(tries(guard, "user1", "192.0.2.1")).as("its victims are not").isTrue();
  }

  private boolean tries(List<String> rules, String login, String ip) {
    return limiter.decide(Call.of(rules, Identity.of("login", login, "ip", ip))).allowed();
  }

  // ---- 5. Promotion query: by member and promotion together -----------------------------------

  @Test
  void eachMemberHasTenQueriesAMinuteOfEachPromotion() {
    limitBy(example("rules.yaml"));
    for (int i = 0; i < 10; i++) {
      assertThat(asks("PromoQuery", "member", "ann", "promo", "spring")).isTrue();
    }

    Decision eleventh = decide("PromoQuery", "member", "ann", "promo", "spring");
    assertThat(eleventh.allowed()).isFalse();
    assertThat(eleventh.locked()).isFalse();
    assertThat(eleventh.retryAfter()).contains(Duration.ofSeconds(60));
    assertThat(asks("PromoQuery", "member", "ann", "promo", "summer")).isTrue();
    assertThat(asks("PromoQuery", "member", "ben", "promo", "spring")).isTrue();
    pass(Duration.ofSeconds(60));
    assertThat(asks("PromoQuery", "member", "ann", "promo", "spring")).isTrue();
  }

  // ---- 6. Mini game: the rule that an annotation names ----------------------------------------

  @ParameterizedTest
  @ValueSource(
      strings = {
        "rules: {SecureMiniGame: {by: [member], limit: 5 per 1m}}",
        """
        <ArrayOfSuspectUsageSettingEntity>
          <SuspectUsageSettingEntity Action="SecureMiniGame" LimitCount="5" LimitDuration="60" />
        </ArrayOfSuspectUsageSettingEntity>
        """
      })
  void annotatedGameIsCountedByMember(String file) {
    limitBy(RuleSource.fixed(RuleFiles.parse("mini-game", file)));
    for (int i = 0; i < 5; i++) {
      assertThat(asks("SecureMiniGame", "member", "ann")).isTrue();
    }

    assertThat(asks("SecureMiniGame", "member", "ann")).isFalse();
    assertThat(asks("SecureMiniGame", "member", "ben")).isTrue();
  }

  // ---- Small words ----------------------------------------------------------------------------

  private void limitBy(RuleSource source) {
    limiter = Limiter.builder(open(clock), source).clock(clock).owning().build();
  }

  private boolean asks(String rule, String... facets) {
    return decide(rule, facets).allowed();
  }

  private Decision decide(String rule, String... facets) {
    Identity identity = Identity.of(facets[0], facets[1]);
    for (int i = 2; i < facets.length; i += 2) {
      identity = identity.with(facets[i], facets[i + 1]);
    }
    return limiter.decide(rule, identity);
  }

  private void pass(Duration time) {
    at(clock.instant().plus(time));
  }

  private void at(Instant moment) {
    clock.now.set(moment);
  }

  /** A source has a thread of its own, which no clock moves: waits for it, not longer than 10 s. */
  private static void until(BooleanSupplier done) {
    long deadlineNanos = System.nanoTime() + Duration.ofSeconds(10).toNanos();
    while (!done.getAsBoolean()) {
      if (System.nanoTime() > deadlineNanos) {
        fail("not within 10 s");
      }
      Thread.onSpinWait();
    }
  }

  private static RuleSource example(String name) {
    try (InputStream in = SeedScenarios.class.getResourceAsStream(name)) {
      byte[] bytes = Objects.requireNonNull(in, name).readAllBytes();
      return RuleSource.fixed(RuleFiles.parse(name, bytes));
    } catch (IOException e) {
      throw new AssertionError(name, e);
    }
  }
}
