package dev.sluice.spring.login;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** What was right a moment ago is remembered for a minute and no longer. */
class RecentSecretsTest {
  @Test
  void expiredEntriesAreRemovedWhenTheyAreMet() {
    AtomicLong nanos = new AtomicLong();
    RecentSecrets secrets = new RecentSecrets(nanos::get);
    secrets.add(secrets.digest("ann", "secret"));
    nanos.addAndGet(Duration.ofSeconds(30).toNanos());
    secrets.add(secrets.digest("bob", "secret"));
    assertThat(secrets.contains(secrets.digest("ann", "secret"))).isTrue();

    nanos.addAndGet(Duration.ofSeconds(30).toNanos());

    assertThat(secrets.contains(secrets.digest("bob", "secret"))).isTrue();
    assertThat(secrets.size()).isEqualTo(1);
  }
}
