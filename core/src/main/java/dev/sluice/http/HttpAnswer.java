package dev.sluice.http;

import dev.sluice.Account;
import dev.sluice.Balance;
import dev.sluice.Decision;
import dev.sluice.internal.Durations;
import dev.sluice.internal.WholeNumbers;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The HTTP response to a decision.
 *
 * @param status 200 if the call may pass, 429 if it is denied, 503 if the store did not answer and
 *     the rule denies such calls
 * @param headers the header fields to send, in order
 * @param problem the body of a denial as {@link #PROBLEM_TYPE}, or null
 */
public record HttpAnswer(int status, Map<String, String> headers, @Nullable String problem) {
  /** The media type of {@link #problem()}. */
  public static final String PROBLEM_TYPE = "application/problem+json";

  /** The registry of problem types; the fragment names one. */
  private static final String PROBLEMS = "https://iana.org/assignments/http-problem-types#";

  /** The wait to report while it is unknown when the store will answer again. */
  private static final long STORE_RETRY_MICROS = 1_000_000;

  /** The response to a decision. */
  public static HttpAnswer of(Decision decision, HeaderProfile profile) {
    Map<String, String> headers = headers(decision.balances(), profile);
    if (decision.allowed()) {
      return new HttpAnswer(200, headers, null);
    }
    boolean unmetered = decision instanceof Decision.Unmetered;
    long retryMicros = retryMicros(decision);
    if (retryMicros != Balance.NEVER) {
      headers.put("Retry-After", Long.toString(Math.max(1, seconds(retryMicros))));
    }
    int status = unmetered ? 503 : 429;
    return new HttpAnswer(status, headers, problem(decision, status, retryMicros));
  }

  /**
   * The header fields that report these balances to the client, in the order to send them; empty if
   * no balance is enforced. A new map with every call.
   */
  public static Map<String, String> headers(List<Balance> balances, HeaderProfile profile) {
    Map<String, String> headers = new LinkedHashMap<>(8);
    Balance deciding = Balance.deciding(balances).orElse(null);
    if (deciding != null) {
      if (profile.hasXRateLimit()) {
        headers.put("X-RateLimit-Limit", Long.toString(deciding.limit().quota()));
        headers.put("X-RateLimit-Remaining", Long.toString(usable(deciding)));
        headers.put("X-RateLimit-Reset", Long.toString(seconds(backMicros(deciding))));
      }
      if (profile.hasDraft11()) {
        List<Policy> policies = Policy.of(balances);
        headers.put("RateLimit-Policy", Policy.policyField(policies));
        headers.put("RateLimit", Policy.limitField(policies));
      }
    }
    return headers;
  }

  /** What the client can still use: nothing while it is locked. */
  static long usable(Balance balance) {
    return balance.locked() && !balance.fits() ? 0 : Math.max(0, balance.remaining());
  }

  /** How long until the whole quota is available and any lock has ended. */
  static long backMicros(Balance balance) {
    return balance.retryAfterMicros() == Balance.NEVER
        ? balance.resetAfterMicros()
        : Math.max(balance.resetAfterMicros(), balance.retryAfterMicros());
  }

  private static long retryMicros(Decision decision) {
    long micros = decision.deciding().map(Balance::retryAfterMicros).orElse(0L);
    return micros == 0 ? STORE_RETRY_MICROS : micros;
  }

  /** By which facets a limit was counted, where the call was counted by several. */
  private static String by(Decision decision, Account account) {
    boolean several =
        decision.balances().stream().anyMatch(each -> !each.account().equals(account));
    return !several
        ? ""
        : account.identity().isEmpty()
            ? " for all callers together"
            : " by " + String.join("+", account.identity().facets().keySet());
  }

  /** Whole seconds, rounded up, so that a client that waits them has waited long enough. */
  static long seconds(long micros) {
    return WholeNumbers.ceilDiv(micros, 1_000_000);
  }

  private static String problem(Decision decision, int status, long retryMicros) {
    List<String> violated =
        Policy.of(decision.balances()).stream()
            .filter(policy -> !policy.balance().fits())
            .map(Policy::name)
            .toList();
    Json json = new Json();
    json.open();
    json.member("type", PROBLEMS + type(decision));
    json.member("title", title(decision));
    json.member("status", status);
    json.member("detail", detail(decision, retryMicros));
    json.member("violated-policies", violated);
    json.member(
        "retryAfterMs", retryMicros == Balance.NEVER ? null : Durations.ceilMillis(retryMicros));
    json.member(
        "restrictedUntil", decision.restrictedUntil().map(Instant::toEpochMilli).orElse(null));
    json.close();
    return json.toString();
  }

  private static String type(Decision decision) {
    if (decision instanceof Decision.Unmetered) {
      return "temporary-reduced-capacity";
    }
    return decision.locked() ? "abnormal-usage-detected" : "quota-exceeded";
  }

  private static String title(Decision decision) {
    if (decision instanceof Decision.Unmetered) {
      return "The service cannot count requests at the moment";
    }
    return decision.locked() ? "Locked out for a while" : "Too many requests";
  }

  private static String detail(Decision decision, long retryMicros) {
    Balance balance = decision.deciding().orElse(null);
    if (balance == null) {
      return "No answer from the store in time; the rule refuses such requests.";
    }
    String what =
        "Rule '%s' allows %s%s"
            .formatted(balance.account().rule(), balance.limit(), by(decision, balance.account()));
    if (retryMicros == Balance.NEVER) {
      return what + "; this request costs more than that and will never pass.";
    }
    String wait = Durations.rounded(Durations.ofMicros(retryMicros));
    if (balance.locked()) { // by the rule, or by hand, in which case no limit was exceeded
      Instant until = Instant.EPOCH.plus(Durations.ofMicros(balance.lockedUntilMicros()));
      return "Rule '%s' has locked this caller out until %s; it will pass in %s."
          .formatted(
              balance.account().rule(),
              until.plusNanos(999_999_999).truncatedTo(ChronoUnit.SECONDS),
              wait);
    }
    return "%s; it will pass in %s.".formatted(what, wait);
  }
}
