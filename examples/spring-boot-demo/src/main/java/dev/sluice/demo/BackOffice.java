package dev.sluice.demo;

import org.springframework.stereotype.Component;

/** Stands in for another system, which sets how often a code may be sent again. */
@Component
class BackOffice {
  private volatile int attempts = 2;

  void allow(int newAttempts) {
    attempts = newAttempts;
  }

  String mfaRules() {
    return """
        facets: {account: {query: account}}
        rules:
          LoginVerificationResend: {by: account, limit: %d per 10m, lock: 5m}
        """
        .formatted(attempts);
  }
}
