package dev.sluice.spring.boot;

import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.LimiterListener;
import dev.sluice.Receipt;
import dev.sluice.Rules;
import dev.sluice.Settled;
import dev.sluice.metrics.Metrics;

/** Counts all decisions of the limiter, also those that the application asks for directly. */
record MeteredDecisions(SluiceAutoConfiguration.Meters meters) implements LimiterListener {
  @Override
  public void decided(Rules rules, Call call, Decision decision, long nanos) {
    meters.countDecision(rules, call, decision);
    Metrics.uncharged(call, decision).forEach(meters::countUncharged);
  }

  @Override
  public void settled(Receipt receipt, Settled settled) {
    settled.unchargedBy().forEach(meters::countUncharged);
  }
}
