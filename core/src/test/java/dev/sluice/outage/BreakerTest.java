package dev.sluice.outage;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.outage.Breaker.Pass;
import org.junit.jupiter.api.Test;

class BreakerTest {
  private final Breaker breaker = new Breaker();

  @Test
  void firstTimeoutOfANodeKeepsCallsAwayUntilTheNodeAnswers() {
    assertThat(breaker.failed(breaker.enter(), "nothing was read", true)).as("opened").isTrue();

    assertThat(breaker.enter()).isEqualTo(Pass.NONE);
    assertThat(breaker.isTroubled()).isTrue();
    breaker.responded();
    assertThat(breaker.enter()).isEqualTo(Pass.TRY);
    assertThat(breaker.enter()).as("one at a time").isEqualTo(Pass.NONE);
  }

  @Test
  void oneAnswerToATryClosesIt() {
    breaker.failed(breaker.enter(), "nothing was read", true);
    breaker.responded();

    assertThat(breaker.answered(breaker.enter())).as("closed").isTrue();
    assertThat(breaker.enter()).isEqualTo(Pass.ASK);
    assertThat(breaker.isTroubled()).isFalse();
  }

  @Test
  void troubleLastsFromTheFirstFailureToTheFirstAnswer() {
    assertThat(breaker.isTroubled()).isFalse();

    breaker.failed(breaker.enter(), "too late", false);
    assertThat(breaker.isTroubled()).isTrue();
    assertThat(breaker.trouble()).isEqualTo("too late");

    breaker.answered(breaker.enter());
    assertThat(breaker.isTroubled()).isFalse();
  }

  @Test
  void failedTryLetsTheNextOneTry() {
    breaker.failed(breaker.enter(), "nothing was read", true);
    breaker.responded();
    breaker.failed(breaker.enter(), "too late", false);

    assertThat(breaker.enter()).isEqualTo(Pass.TRY);
  }

  @Test
  void slowNodeIsLeftAloneAfterFiveFailuresInARow() {
    for (int i = 0; i < 4; i++) {
      assertThat(breaker.failed(breaker.enter(), "too late", false)).isFalse();
    }
    breaker.answered(Pass.ASK);
    for (int i = 0; i < 4; i++) {
      breaker.failed(breaker.enter(), "too late", false);
    }
    assertThat(breaker.enter()).as("four in a row are not five").isEqualTo(Pass.ASK);

    assertThat(breaker.failed(Pass.ASK, "too late", false)).as("opened").isTrue();
    assertThat(breaker.enter()).isEqualTo(Pass.TRY);
    assertThat(breaker.enter()).isEqualTo(Pass.NONE);
  }
}
