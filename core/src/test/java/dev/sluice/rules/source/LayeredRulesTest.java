package dev.sluice.rules.source;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Rule;
import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.rules.RuleFiles;
import dev.sluice.rules.Until;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LayeredRulesTest {

  private static final Duration PATIENCE = Duration.ofSeconds(20);

  /** A layer that is changed by hand. */
  private static final class Layer implements RuleSource {
    private final AtomicInteger closed = new AtomicInteger();
    private volatile Rules rules;
    private Optional<Failure> failure = Optional.empty();

    Layer(String text) {
      set(text);
    }

    void set(String text) {
      rules = RuleFiles.parse("layer", text);
    }

    @Override
    public Rules rules() {
      return rules;
    }

    @Override
    public Optional<Failure> failure() {
      return failure;
    }

    @Override
    public void close() {
      closed.incrementAndGet();
    }
  }

  private final Layer low = new Layer("rules: {a: {limit: 1 per 1s}, b: {limit: 2 per 1s}}");
  private final Layer high = new Layer("rules: {b: {limit: 20 per 1s}, c: {limit: 30 per 1s}}");

  @Test
  void laterLayerWinsByName() {
    LayeredRules layered = LayeredRules.of(low, high);

    assertThat(layered.rules().all())
        .extracting(Rule::toString)
        .containsExactly("a: 1 per 1s", "b: 20 per 1s", "c: 30 per 1s");
  }

  @Test
  void changeOfAnyLayerHoldsAtOnce() {
    LayeredRules layered = LayeredRules.of(low, high);

    high.set("rules: {}");
    assertThat(layered.rules().all())
        .extracting(Rule::toString)
        .containsExactly("a: 1 per 1s", "b: 2 per 1s");

    low.set("rules: {a: {limit: 7 per 1s}}");
    assertThat(layered.rules().all()).extracting(Rule::toString).containsExactly("a: 7 per 1s");
  }

  @Test
  void rulesStayTheSameObjectWhileNoLayerChanges() {
    LayeredRules layered = LayeredRules.of(low, high);

    assertThat(layered.rules()).isSameAs(layered.rules());
  }

  @Test
  void facetsAreLaidOverOneAnotherToo() {
    low.set(
        "facets: {ip: client-address, m: {header: A}}\nrules: {a: {by: [ip], limit: 1 per 1s}}");
    high.set("facets: {m: {header: B}}\nrules: {b: {by: [m], limit: 1 per 1s}}");

    Rules rules = LayeredRules.of(low, high).rules();

    assertThat(rules.facets()).containsOnlyKeys("ip", "m");
    assertThat(rules.facets().get("m").key()).isEqualTo("B");
  }

  @Test
  void layersThatDoNotFitTogetherAreRefused() {
    LayeredRules layered = LayeredRules.of(low, high);
    Rules before = layered.rules();

    low.set("facets: {ip: client-address}\nrules: {a: {by: [ip], limit: 1 per 1s}}");
    high.set("rules: {b: {by: [member], limit: 1 per 1s}}");

    assertThat(layered.rules()).isSameAs(before);
    assertThat(layered.failure().orElseThrow().message())
        .isEqualTo("rule 'b': by: the unknown facet 'member' (expected: ip)");
    assertThatThrownBy(() -> LayeredRules.of(low, high))
        .isInstanceOf(IllegalArgumentException.class);

    high.set("rules: {b: {by: [ip], limit: 1 per 1s}}");
    assertThat(layered.failure()).isEmpty();
    assertThat(layered.rules().size()).isEqualTo(2);
  }

  @Test
  void openLayersMayCountByFacetsThatNoLayerNames() {
    low.set("facets: {ip: client-address}\nrules: {a: {by: [ip], limit: 1 per 1s}}");
    high.set("rules: {b: {by: [member], limit: 1 per 1s}}");

    Rules rules = LayeredRules.open(low, high).rules();

    assertThat(rules.size()).isEqualTo(2);
    assertThat(rules.facets()).containsOnlyKeys("ip");
  }

  @Test
  void failuresOfAllLayersAreReportedSinceTheFirst() {
    LayeredRules layered = LayeredRules.of(low, high);
    Instant first = Instant.parse("2025-03-01T12:00:00Z");
    low.failure = Optional.of(new RuleSource.Failure(first.plusSeconds(5), "low is bad"));
    high.failure = Optional.of(new RuleSource.Failure(first, "high is bad"));

    assertThat(layered.failure())
        .contains(new RuleSource.Failure(first, "low is bad\nhigh is bad"));
  }

  @Test
  void fileWithoutWhatIsRequiredIsRefusedAtOnceAndTakenOnceAnotherLayerHasIt(@TempDir Path folder)
      throws IOException {
    Path file = Files.writeString(folder.resolve("rules.yaml"), "rules: {x: {limit: 1 per 1s}}");
    try (FileRules below = FileRules.watch(file)) {
      LayeredRules.of(below, high).require(LayeredRulesTest::checkHasX);
      Rules before = below.rules();

      Files.writeString(file, "rules: {y: {limit: 1 per 1s}}");
      Until.within(PATIENCE, "refused", () -> below.failure().isPresent());
      assertThat(below.failure().orElseThrow().message()).isEqualTo("x is missing");
      assertThat(below.rules()).isSameAs(before);

      high.set("rules: {x: {limit: 20 per 1s}}");
      Until.within(PATIENCE, "taken", () -> below.failure().isEmpty());
      assertThat(below.rules().toString()).isEqualTo("[y]");
    }
  }

  private static void checkHasX(Rules rules) {
    if (rules.find("x") == null) {
      throw new IllegalArgumentException("x is missing");
    }
  }

  @Test
  void closingClosesEveryLayer() {
    LayeredRules.of(low, high).close();

    assertThat(low.closed).hasValue(1);
    assertThat(high.closed).hasValue(1);
  }
}
