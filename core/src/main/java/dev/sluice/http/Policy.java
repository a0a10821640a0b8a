package dev.sluice.http;

import dev.sluice.Account;
import dev.sluice.Balance;
import dev.sluice.internal.Durations;
import java.util.ArrayList;
import java.util.List;

/** One limit of one rule as the IETF draft names it, with its tightest balance. */
record Policy(String name, Balance balance) {
  /*
   * The policy of a rule with one limit has the name of the rule. With several limits they are
   * "Api:1", "Api:2" …, in the order of the rule. Rule names contain no colon, so policy names are
   * unique. A rule that counts by member and by address has two balances for one policy: the
   * tighter one is reported.
   */
  private static final long LARGEST_INTEGER =
      999_999_999_999_999L; // of structured fields, RFC 9651

  /** The enforced policies among the balances, in order, each once. */
  static List<Policy> of(List<Balance> balances) {
    List<Policy> policies = new ArrayList<>(balances.size());
    Account account = null;
    int place = 0;
    for (int i = 0; i < balances.size(); i++) {
      Balance balance = balances.get(i);
      boolean first = !balance.account().equals(account);
      account = balance.account();
      place = first ? 1 : place + 1;
      if (balance.enforced()) {
        boolean alone =
            first && (i + 1 == balances.size() || !balances.get(i + 1).account().equals(account));
        add(policies, alone ? account.rule() : account.rule() + ":" + place, balance);
      }
    }
    return policies;
  }

  private static void add(List<Policy> policies, String name, Balance balance) {
    for (int i = 0; i < policies.size(); i++) {
      Policy known = policies.get(i);
      if (known.name.equals(name)) {
        if (isTighter(balance, known.balance)) {
          policies.set(i, new Policy(name, balance));
        }
        return;
      }
    }
    policies.add(new Policy(name, balance));
  }

  private static boolean isTighter(Balance a, Balance b) {
    return a.retryAfterMicros() != b.retryAfterMicros()
        ? a.retryAfterMicros() > b.retryAfterMicros()
        : a.remaining() < b.remaining();
  }

  /** The value of {@code RateLimit-Policy}, such as {@code "burst";q=100;w=60}. */
  static String policyField(List<Policy> policies) {
    StringBuilder field = new StringBuilder();
    for (Policy policy : policies) {
      policy.start(field);
      long windowMicros = Durations.micros(policy.balance.limit().window());
      field.append(";q=").append(integer(policy.balance.limit().quota()));
      field.append(";w=").append(integer(Math.max(1, HttpAnswer.seconds(windowMicros))));
    }
    return field.toString();
  }

  /** The value of {@code RateLimit}, such as {@code "burst";r=50;t=30}. */
  static String limitField(List<Policy> policies) {
    StringBuilder field = new StringBuilder();
    for (Policy policy : policies) {
      policy.start(field);
      field.append(";r=").append(integer(HttpAnswer.usable(policy.balance)));
      field
          .append(";t=")
          .append(integer(HttpAnswer.seconds(HttpAnswer.backMicros(policy.balance))));
    }
    return field.toString();
  }

  private void start(StringBuilder field) {
    field.append(field.length() == 0 ? "" : ", ");
    string(name, field);
  }

  /** A string of structured fields: printable ASCII in quotes; other characters become '?'. */
  static void string(String text, StringBuilder to) {
    to.append('"');
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c == '"' || c == '\\') {
        to.append('\\').append(c);
      } else {
        to.append(c >= ' ' && c < 0x7f ? c : '?');
      }
    }
    to.append('"');
  }

  private static long integer(long value) {
    return Math.min(Math.max(0, value), LARGEST_INTEGER);
  }
}
