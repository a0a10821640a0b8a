package dev.sluice.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class MutatorTest {
  private static final List<String> SAMPLES = List.of("limit: 3 per 30m", "lock: 10s");

  @Test
  void sameSeedGivesTheSameInput() {
    for (long seed = 0; seed < 100; seed++) {
      assertThat(new Mutator(seed).text(SAMPLES)).isEqualTo(new Mutator(seed).text(SAMPLES));
    }
  }

  @Test
  void inputsDifferAndSomeAreLeftWhole() {
    Set<String> inputs = new HashSet<>();
    for (long seed = 0; seed < 1_000; seed++) {
      inputs.add(new Mutator(seed).text(SAMPLES));
    }

    assertThat(inputs).hasSizeGreaterThan(600).containsAll(SAMPLES);
  }

  @Test
  void unclearErrorIsFoundAndItsSeedShown() {
    assertThatThrownBy(
            () ->
                Mutator.feedText(
                    "a parser",
                    SAMPLES,
                    List.of(IllegalArgumentException.class),
                    text -> text.substring(9)))
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("seed ")
        .hasMessageContaining("StringIndexOutOfBoundsException");
  }

  @Test
  void errorWithoutAMessageIsFound() {
    assertThatThrownBy(
            () ->
                Mutator.feedText(
                    "a parser",
                    SAMPLES,
                    List.of(IllegalArgumentException.class),
                    text -> {
                      throw new IllegalArgumentException("");
                    }))
        .hasMessageContaining("its message has 0 characters");
  }
}
