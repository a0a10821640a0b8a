package dev.sluice.spring.call;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Rule;
import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.http.ClientAddress;
import dev.sluice.http.HeaderProfile;
import dev.sluice.internal.Stages;
import dev.sluice.memory.MemoryStore;
import io.micrometer.observation.ObservationRegistry;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class GateTest {
  private static Rules countingBy(String facet) {
    Limit limit = Limit.slidingLog(2, Duration.ofMinutes(1));
    return Rules.of(Rule.builder("Search").by(facet).limit(limit).build());
  }

  @Test
  void rulesThatGaveACallItsIdentityAlsoDecideIt() {
    AtomicReference<Rules> inForce = new AtomicReference<>(countingBy("member"));
    RuleSource source = inForce::get;
    Gate gate =
        new Gate(
            Limiter.of(MemoryStore.create(), source),
            new Facets(List.of(), ClientAddress.ofPeer()),
            HeaderProfile.BOTH,
            ObservationRegistry.NOOP,
            null);
    PreparedCall call =
        gate.call(
            gate.rules(),
            List.of("Search"),
            Map.of("member", "ann"),
            1,
            new CallContext(null, null));

    inForce.set(countingBy("tenant"));
    Decision decision = Stages.await(gate.ask(call));

    assertThat(decision.balances())
        .extracting(balance -> balance.account().identity())
        .containsExactly(Identity.of("member", "ann"));
  }
}
