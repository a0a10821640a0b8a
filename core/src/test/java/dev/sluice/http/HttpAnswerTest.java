package dev.sluice.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Account;
import dev.sluice.Balance;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Receipt;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class HttpAnswerTest {
  private static final Limit HUNDRED = Limit.slidingWindow(100, Duration.ofMinutes(1));
  private static final Limit TEN = Limit.slidingLog(10, Duration.ofMillis(1_500));
  private static final Account ANN = new Account("Api", Identity.of("member", "ann"));
  private static final Account HOME = new Account("Api", Identity.of("ip", "192.0.2.1"));

  private static Balance balance(Account account, Limit limit, long remaining, long retryMicros) {
    return new Balance(account, limit, true, remaining, retryMicros, 29_000_001, 0);
  }

  private static Decision allowed(Balance... balances) {
    return Decision.Allowed.of(
        List.of(balances), Decision.CountedBy.STORE, () -> new Receipt("-", 0, List.of()));
  }

  private static Decision denied(Balance... balances) {
    return new Decision.Denied(List.of(balances));
  }

  @Test
  void anAllowedCallShowsWhatIsLeft() {
    HttpAnswer answer = HttpAnswer.of(allowed(balance(ANN, HUNDRED, 50, 0)), HeaderProfile.BOTH);

    assertThat(answer)
        .isEqualTo(
            new HttpAnswer(
                200,
                Map.of(
                    "X-RateLimit-Limit", "100",
                    "X-RateLimit-Remaining", "50",
                    "X-RateLimit-Reset", "30",
                    "RateLimit-Policy", "\"Api\";q=100;w=60",
                    "RateLimit", "\"Api\";r=50;t=30"),
                null));
  }

  @Test
  void balancesAloneGiveTheFieldsOfAnAllowedCall() {
    List<Balance> balances = List.of(balance(ANN, HUNDRED, 50, 0), balance(HOME, TEN, 1, 0));

    assertThat(HttpAnswer.headers(balances, HeaderProfile.BOTH))
        .isEqualTo(
            HttpAnswer.of(allowed(balances.toArray(new Balance[0])), HeaderProfile.BOTH).headers())
        .containsEntry("X-RateLimit-Remaining", "1");
    assertThat(HttpAnswer.headers(List.of(), HeaderProfile.BOTH)).isEmpty();
  }

  @Test
  void profilesChooseTheFieldsButRetryAfterIsAlwaysThere() {
    Decision denied = denied(balance(ANN, HUNDRED, 0, 1_000_001));

    assertThat(HttpAnswer.of(denied, HeaderProfile.X_RATELIMIT).headers().keySet())
        .containsExactly(
            "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After");
    assertThat(HttpAnswer.of(denied, HeaderProfile.DRAFT_11).headers().keySet())
        .containsExactly("RateLimit-Policy", "RateLimit", "Retry-After");
    assertThat(HttpAnswer.of(denied, HeaderProfile.NONE).headers())
        .isEqualTo(Map.of("Retry-After", "2"));
    assertThat(HeaderProfile.parse("draft-11")).isEqualTo(HeaderProfile.DRAFT_11);
    assertThatThrownBy(() -> HeaderProfile.parse("draft-7"))
        .hasMessage("headers: 'draft-7' (expected: one of x-ratelimit, draft-11, both, none)");
  }

  @Test
  void aRefusalExplainsItself() {
    HttpAnswer answer =
        HttpAnswer.of(
            denied(balance(ANN, HUNDRED, 3, 0), balance(ANN, TEN, 0, 1_200_001)),
            HeaderProfile.DRAFT_11);

    assertThat(answer.status()).isEqualTo(429);
    assertThat(answer.headers())
        .isEqualTo(
            Map.of(
                "RateLimit-Policy", "\"Api:1\";q=100;w=60, \"Api:2\";q=10;w=2",
                "RateLimit", "\"Api:1\";r=3;t=30, \"Api:2\";r=0;t=30",
                "Retry-After", "2"));
    assertThat(answer.problem())
        .isEqualTo(
            "{\"type\":\"https://iana.org/assignments/http-problem-types#quota-exceeded\","
                + "\"title\":\"Too many requests\",\"status\":429,"
                + "\"detail\":\"Rule 'Api' allows 10 per 1s500ms; it will pass in 2s.\","
                + "\"violated-policies\":[\"Api:2\"],\"retryAfterMs\":1201,"
                + "\"restrictedUntil\":null}");
  }

  @Test
  void aLockIsAnotherKindOfRefusal() {
    Balance locked = new Balance(ANN, TEN, true, 10, 60_000_000, 0, 1_900_000_000_000_001L);

    HttpAnswer answer = HttpAnswer.of(denied(locked), HeaderProfile.BOTH);

    assertThat(answer.headers())
        .containsEntry("Retry-After", "60")
        .containsEntry("X-RateLimit-Reset", "60")
        .containsEntry("X-RateLimit-Remaining", "0")
        .containsEntry("RateLimit", "\"Api\";r=0;t=60");
    assertThat(answer.problem())
        .contains("#abnormal-usage-detected\"", "\"restrictedUntil\":1900000000001")
        .contains("\"violated-policies\":[\"Api\"]");
  }

  /** A lock that was set by hand has nothing to do with a limit, and looks like any other here. */
  @Test
  void aLockIsNotExplainedByALimit() {
    Balance locked = new Balance(ANN, TEN, true, 10, 60_000_000, 0, 1_900_000_000_000_001L);

    HttpAnswer answer = HttpAnswer.of(denied(locked), HeaderProfile.NONE);

    assertThat(answer.problem())
        .contains("\"title\":\"Locked out for a while\"")
        .contains(
            "\"detail\":\"Rule 'Api' has locked this caller out until 2030-03-17T17:46:41Z; it will pass in 1m.\"");
  }

  @ParameterizedTest
  @CsvSource({"1, 1", "999999, 1", "1000000, 1", "1000001, 2", "59999999, 60", "60000000, 60"})
  void retryAfterIsRoundedUpAndAtLeastOne(long micros, String seconds) {
    HttpAnswer answer = HttpAnswer.of(denied(balance(ANN, HUNDRED, 0, micros)), HeaderProfile.NONE);

    assertThat(answer.headers()).isEqualTo(Map.of("Retry-After", seconds));
  }

  @Test
  void costThatNeverFitsHasNoRetryAfter() {
    HttpAnswer answer =
        HttpAnswer.of(denied(balance(ANN, TEN, 10, Balance.NEVER)), HeaderProfile.X_RATELIMIT);

    assertThat(answer.headers()).doesNotContainKey("Retry-After");
    assertThat(answer.headers()).containsEntry("X-RateLimit-Reset", "30");
    assertThat(answer.problem()).contains("\"retryAfterMs\":null", "will never pass");
  }

  @Test
  void storeThatDoesNotAnswerIs503WhereTheRuleDenies() {
    HttpAnswer answer = HttpAnswer.of(new Decision.Unmetered(false, "timeout"), HeaderProfile.BOTH);

    assertThat(answer.status()).isEqualTo(503);
    assertThat(answer.headers()).isEqualTo(Map.of("Retry-After", "1"));
    assertThat(answer.problem())
        .contains("#temporary-reduced-capacity\"", "\"violated-policies\":[]");
    assertThat(HttpAnswer.of(new Decision.Unmetered(true, "timeout"), HeaderProfile.BOTH))
        .isEqualTo(new HttpAnswer(200, Map.of(), null));
  }

  @Test
  void twoAccountsOfOnePolicyAreShownAsTheTighter() {
    HttpAnswer answer =
        HttpAnswer.of(
            allowed(
                balance(ANN, HUNDRED, 50, 0),
                balance(ANN, TEN, 5, 0),
                balance(HOME, HUNDRED, 7, 0),
                balance(HOME, TEN, 9, 0)),
            HeaderProfile.DRAFT_11);

    assertThat(answer.headers())
        .containsEntry("RateLimit", "\"Api:1\";r=7;t=30, \"Api:2\";r=5;t=30");
  }

  @Test
  void shadowRulesAreNobodysBusiness() {
    Balance shadow = new Balance(ANN, TEN, false, 0, 5_000_000, 5_000_000, 0);

    assertThat(HttpAnswer.of(allowed(shadow), HeaderProfile.BOTH))
        .isEqualTo(new HttpAnswer(200, Map.of(), null));
  }

  @Test
  void structuredFieldsAreEscapedAndBounded() {
    StringBuilder text = new StringBuilder();
    Policy.string("a\"b\\c\r\nd€", text);

    Limit huge = Limit.fixedWindow(Limit.LARGEST, Duration.ofSeconds(1));
    HttpAnswer answer =
        HttpAnswer.of(allowed(balance(ANN, huge, Limit.LARGEST - 1, 0)), HeaderProfile.DRAFT_11);

    assertThat(text).hasToString("\"a\\\"b\\\\c??d?\"");
    assertThat(answer.headers())
        .containsEntry("RateLimit-Policy", "\"Api\";q=999999999999999;w=1")
        .containsEntry("RateLimit", "\"Api\";r=999999999999999;t=30");
  }
}
