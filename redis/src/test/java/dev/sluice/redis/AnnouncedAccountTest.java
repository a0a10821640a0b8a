package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Account;
import dev.sluice.Identity;
import dev.sluice.outage.DenialCache;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What another tenant of the same Redis may publish on our channel. */
class AnnouncedAccountTest {
  @Test
  void accountComesBackAsItWas() {
    Account plain = new Account("signIn", Identity.of("login", "ann", "ip", "10.0.0.1"), false);
    Account colocated = new Account("signIn", Identity.of("login", "ann"), true);

    assertThat(DenialCache.account(DenialCache.text(plain))).isEqualTo(plain);
    assertThat(DenialCache.account(DenialCache.text(colocated))).isEqualTo(colocated);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "-", ":", "-:", "-a:", "-a b:login=ann", "-signIn:login", "signIn"})
  void whatNamesNoAccountIsRefused(String text) {
    assertThatThrownBy(() -> DenialCache.account(text))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void messageThatIsLongerThanAnyAccountIsRefusedUnread() {
    assertThatThrownBy(() -> DenialCache.account("-signIn:login=" + "a".repeat(40_000)))
        .hasMessageContaining("not the name of an account");
    assertThatThrownBy(() -> DenialCache.account("-" + "r".repeat(2_000) + ":login=ann"))
        .isInstanceOf(IllegalArgumentException.class);
  }
}
