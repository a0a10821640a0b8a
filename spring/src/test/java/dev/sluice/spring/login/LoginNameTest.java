package dev.sluice.spring.login;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Facet;
import dev.sluice.Facet.Normalization;
import dev.sluice.Identity;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Whatever somebody types as a login can be counted. */
class LoginNameTest {
  @Test
  void everySpellingIsOneNameUnlessTheRulesSayOtherwise() {
    assertThat(LoginName.of("login", " A\u0000NN\u00ad ", null)).isEqualTo("ann");
    Facet trimmed =
        new Facet("login", Facet.Source.QUERY, "login", false, Set.of(Normalization.TRIM));
    assertThat(LoginName.of("login", " Ann ", trimmed)).isEqualTo("Ann");
    Facet plain = new Facet("login", Facet.Source.QUERY, "login", false);
    assertThat(LoginName.of("login", " Ann ", plain)).isEqualTo("ann");
  }

  @Test
  void nameOfWhichNothingIsLeftIsCountedAndNoNameIsNot() {
    assertThat(LoginName.of("login", " \u0000\u200b\ud800 ", null)).isEqualTo(LoginName.BLANK);
    assertThat(LoginName.of("login", "", null)).isNull();
  }

  @Test
  void nameIsCutAfterItIsFolded() {
    for (String padding : new String[] {" ", "\u0001", "\u200b", "\ud800"}) {
      assertThat(LoginName.of("login", padding.repeat(1_024) + "Ann", null)).isEqualTo("ann");
    }
    assertThat(LoginName.of("login", "x".repeat(1_023) + "\ud83d\ude00", null))
        .isEqualTo("x".repeat(1_023));
  }

  @Test
  void namesTooLongToFoldCountAsOne() {
    assertThat(LoginName.of("login", " ".repeat(LoginName.LONGEST_TYPED - 3) + "ann", null))
        .isEqualTo("ann");
    assertThat(LoginName.of("login", " ".repeat(LoginName.LONGEST_TYPED - 2) + "ann", null))
        .isEqualTo(LoginName.TOO_LONG);
  }

  @Test
  void anyTextBecomesAnIdentity() {
    long seed = Long.getLong("sluice.seed", System.nanoTime());
    Random random = new Random(seed);
    for (int i = 0; i < 5_000; i++) {
      StringBuilder typed = new StringBuilder();
      int length = random.nextInt(i % 100 == 0 ? 5_000 : 40);
      while (typed.length() < length) {
        // Some of these grow to eighteen characters in their canonical form.
        typed.append(random.nextInt(10) == 0 ? '\ufdfa' : (char) random.nextInt(0x10000));
      }
      String name = LoginName.of("login", typed.toString(), null);
      if (name != null) {
        assertThat(Identity.of("login", name).facet("login"))
            .as("sluice.seed=%d", seed)
            .isEqualTo(name);
      }
    }
  }
}
