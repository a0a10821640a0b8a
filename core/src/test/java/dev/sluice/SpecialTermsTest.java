package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.contract.MovableClock;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** The index of overrides finds what a search through all of them finds. */
class SpecialTermsTest {
  private static final Instant NOON = Instant.parse("2026-01-01T12:00:00Z");
  private static final List<Facet> FACETS =
      List.of(
          new Facet("ip", Facet.Source.CLIENT_ADDRESS, "", false),
          new Facet("key", Facet.Source.CALLER, "", true),
          new Facet("login", Facet.Source.CALLER, "", false));

  @Test
  void theFirstOverrideThatMatchesApplies() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    MovableClock clock = MovableClock.at(NOON);
    for (int round = 0; round < 300; round++) {
      List<Rule.Special> specials = new ArrayList<>();
      int size = 1 + random.nextInt(30);
      for (int i = 0; i < size; i++) {
        Instant until = random.nextInt(4) == 0 ? NOON.plusSeconds(random.nextInt(3) - 1) : null;
        specials.add(
            new Rule.Special(
                values(random, true),
                until,
                Terms.of(Limit.slidingLog(100 + i, Duration.ofMinutes(1)))));
      }
      Rule.Builder builder =
          Rule.builder("all").by("login").limit(Limit.slidingLog(1, Duration.ofMinutes(1)));
      specials.forEach(each -> builder.override(each.when(), each.until(), each.terms()));
      Rules rules = Rules.of(List.of(builder.build()), FACETS);
      for (int i = 0; i < 30; i++) {
        Map<String, String> values = values(random, false);
        values.putIfAbsent("login", "nobody");
        Identity caller = Identity.of(values);

        long found =
            rules
                .plan(Call.of("all", caller), clock)
                .charges()
                .get(0)
                .terms()
                .limits()
                .get(0)
                .quota();

        assertThat(found).as("seed %d, %s", seed, caller).isEqualTo(expected(specials, values));
      }
    }
  }

  private static long expected(List<Rule.Special> specials, Map<String, String> caller) {
    for (Rule.Special each : specials) {
      boolean holds = each.until() == null || each.until().isAfter(NOON);
      if (holds && each.when().entrySet().stream().allMatch(entry -> matches(entry, caller))) {
        return each.terms().limits().get(0).quota();
      }
    }
    return 1;
  }

  private static boolean matches(Map.Entry<String, String> wanted, Map<String, String> caller) {
    String value = caller.get(wanted.getKey());
    return value != null
        && (wanted.getValue().equals(value)
            || (wanted.getValue().equals("192.0.2.0/30") && wanted.getKey().equals("ip")));
  }

  private static Map<String, String> values(Random random, boolean ranges) {
    Map<String, String> values = new LinkedHashMap<>();
    if (random.nextBoolean()) {
      boolean range = ranges && random.nextInt(3) == 0;
      values.put("ip", range ? "192.0.2.0/30" : "192.0.2." + random.nextInt(4));
    }
    if (random.nextBoolean()) {
      values.put("key", "k" + random.nextInt(4));
    }
    if (values.isEmpty() || random.nextBoolean()) {
      values.put("login", "l" + random.nextInt(4));
    }
    return values;
  }

  @Test
  void aSecretValueCanBeNamedByItsHash() {
    Rules plain =
        Rules.of(
            List.of(
                Rule.builder("all")
                    .by("key")
                    .limit(Limit.slidingLog(1, Duration.ofMinutes(1)))
                    .build()),
            FACETS);
    Map<String, String> hashed = plain.withoutSecrets(Map.of("key", "k1"));
    Rule rule =
        plain
            .all()
            .get(0)
            .withOverridesFirst(
                List.of(
                    new Rule.Special(
                        hashed, null, Terms.of(Limit.slidingLog(7, Duration.ofMinutes(1))))));
    Rules rules = Rules.of(List.of(rule), FACETS);

    assertThat(hashed.get("key")).startsWith("sha256:").doesNotContain("k1");
    assertThat(quota(rules, "k1")).isEqualTo(7);
    assertThat(quota(rules, "k2")).isEqualTo(1);
    assertThat(quota(rules, hashed.get("key"))).as("a call cannot pass a hash").isEqualTo(1);
    assertThat(plain.withoutSecrets(hashed)).isEqualTo(hashed);
  }

  private static long quota(Rules rules, String key) {
    return rules
        .plan(Call.of("all", Identity.of("key", key)), MovableClock.at(NOON))
        .charges()
        .get(0)
        .terms()
        .limits()
        .get(0)
        .quota();
  }

  @Test
  void itIsKnownWhenAnOverrideLastApplied() {
    Rule rule =
        Rule.builder("all")
            .by("login")
            .limit(Limit.slidingLog(1, Duration.ofMinutes(1)))
            .override(
                Map.of("login", "ann"), null, Terms.of(Limit.slidingLog(2, Duration.ofMinutes(1))))
            .override(
                Map.of("login", "bob"), null, Terms.of(Limit.slidingLog(2, Duration.ofMinutes(1))))
            .build();
    Rules rules = Rules.of(rule);
    long before = System.currentTimeMillis() / 1000;

    rules.plan(Call.of("all", Identity.of("login", "bob")), MovableClock.at(NOON));

    long[] applied = rules.overridesApplied("all");
    assertThat(applied[0]).isZero();
    assertThat(applied[1]).isBetween(before, before + 60);
  }
}
