package dev.sluice.spring.actuator;

import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.Rules;
import dev.sluice.metrics.Counters;
import dev.sluice.metrics.Metrics;
import dev.sluice.spring.SluiceProperties;
import dev.sluice.spring.boot.SluiceAutoConfiguration;
import dev.sluice.spring.boot.StartCheck;
import dev.sluice.spring.call.Gate;
import dev.sluice.store.Store;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.observation.DefaultMeterObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import java.util.Objects;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.actuate.endpoint.web.annotation.WebEndpoint;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.util.function.SingletonSupplier;

/** The actuator endpoint, health and metrics of Sluice. */
@AutoConfiguration(after = SluiceAutoConfiguration.class)
@ConditionalOnBean(Gate.class)
public class SluiceActuatorAutoConfiguration {

  /** The endpoint {@code sluice}. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass({WebEndpoint.class, ConditionalOnAvailableEndpoint.class})
  static class OfEndpoint {
    @Bean
    @ConditionalOnAvailableEndpoint(endpoint = SluiceEndpoint.class)
    SluiceEndpoint sluiceEndpoint(
        Limiter limiter, Store store, SluiceProperties properties, StartCheck check) {
      return new SluiceEndpoint(limiter, store, properties, check);
    }
  }

  /** The meters of {@link Metrics}, if the application has a registry. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(MeterRegistry.class)
  static class OfMetrics {
    @Bean
    SluiceAutoConfiguration.Meters sluiceMeters(ObjectProvider<MeterRegistry> registries) {
      return new RegisteredMeters(SingletonSupplier.ofNullable(registries::getIfUnique));
    }

    /** Not a MeterBinder, which would not be bound without the actuator. */
    @Bean
    SmartInitializingSingleton sluiceForeignValues(
        Store store, ObjectProvider<MeterRegistry> registries) {
      return () ->
          registries.ifUnique(
              registry ->
                  FunctionCounter.builder(Metrics.FOREIGN_VALUES, store, Store::foreignValues)
                      .description(
                          "Values under keys of Sluice that Sluice did not write; they were replaced")
                      .register(registry));
    }
  }

  /** Counts in the registry; does nothing if there is none, or several without a primary one. */
  private static final class RegisteredMeters implements SluiceAutoConfiguration.Meters {
    private final SingletonSupplier<MeterRegistry> registry;
    private final Counters<Counter> decisions = new Counters<>(this::counter);

    RegisteredMeters(SingletonSupplier<MeterRegistry> registry) {
      this.registry = registry;
    }

    @Override
    public void countFault(String kind) {
      count(Metrics.STORE_FAULTS, Metrics.KIND, kind, 1);
    }

    @Override
    public void countUncharged(String rule, long cost) {
      count(Metrics.UNCHARGED, Metrics.RULE, rule, cost);
    }

    private void count(String meter, String tag, String value, long amount) {
      MeterRegistry known = registry.get();
      if (known != null) {
        known.counter(meter, tag, value).increment((double) amount);
      }
    }

    @Override
    public void countDecision(Rules rules, Call call, Decision decision) {
      if (registry.get() != null) {
        decisions.of(rules, call, decision, Counter::increment);
      }
    }

    private Counter counter(Metrics.Count count) {
      MeterRegistry known = Objects.requireNonNull(registry.get());
      return known.counter(
          count.meter(),
          Metrics.RULE,
          count.rule(),
          Metrics.OUTCOME,
          count.outcome(),
          Metrics.COUNTED_BY,
          count.countedBy(),
          Metrics.LOCKED,
          String.valueOf(count.locked()));
    }

    @Override
    public ObservationRegistry observations() {
      ObservationRegistry observations = ObservationRegistry.create();
      MeterRegistry known = registry.get();
      if (known != null) {
        observations
            .observationConfig()
            .observationHandler(new DefaultMeterObservationHandler(known));
      }
      return observations;
    }
  }

  /** The health indicator for Spring Boot 3. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(name = "org.springframework.boot.actuate.health.HealthIndicator")
  @ConditionalOnProperty(name = "management.health.sluice.enabled", matchIfMissing = true)
  static class OfHealth3 {
    @Bean
    org.springframework.boot.actuate.health.HealthIndicator sluiceHealthIndicator(
        Store store, Limiter limiter) {
      return () -> {
        Condition now = Condition.of(store, limiter);
        return org.springframework.boot.actuate.health.Health.status(now.status())
            .withDetails(now.details())
            .build();
      };
    }
  }

  /** The health indicator for Spring Boot 4. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(name = "org.springframework.boot.health.contributor.HealthIndicator")
  @ConditionalOnProperty(name = "management.health.sluice.enabled", matchIfMissing = true)
  static class OfHealth4 {
    @Bean
    org.springframework.boot.health.contributor.HealthIndicator sluiceHealthIndicator(
        Store store, Limiter limiter) {
      return () -> {
        Condition now = Condition.of(store, limiter);
        return org.springframework.boot.health.contributor.Health.status(now.status())
            .withDetails(now.details())
            .build();
      };
    }
  }
}
