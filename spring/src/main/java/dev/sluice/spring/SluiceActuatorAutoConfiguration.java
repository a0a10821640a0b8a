package dev.sluice.spring;

import dev.sluice.Limiter;
import dev.sluice.Store;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.observation.DefaultMeterObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** What operators see of Sluice: endpoint, health, faults of the store. */
@AutoConfiguration(after = SluiceAutoConfiguration.class)
@ConditionalOnBean(Gate.class)
public class SluiceActuatorAutoConfiguration {

  /** The endpoint {@code sluice}. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass({Endpoint.class, ConditionalOnAvailableEndpoint.class})
  static class OfEndpoint {
    @Bean
    @ConditionalOnAvailableEndpoint(endpoint = SluiceEndpoint.class)
    SluiceEndpoint sluiceEndpoint(Limiter limiter, SluiceProperties properties, StartCheck check) {
      return new SluiceEndpoint(limiter, properties, check);
    }
  }

  /**
   * Faults of the store, by kind; what could not be charged, by rule; decisions, where nobody makes
   * meters of observations.
   */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(MeterRegistry.class)
  static class OfMetrics {
    @Bean
    SluiceAutoConfiguration.Meters sluiceMeters(ObjectProvider<MeterRegistry> registries) {
      return new SluiceAutoConfiguration.Meters() {
        @Override
        public void countFault(String kind) {
          registries.ifUnique(
              registry -> registry.counter("sluice.store.faults", "kind", kind).increment());
        }

        @Override
        public void countUncharged(String rule, long cost) {
          registries.ifUnique(
              registry ->
                  registry.counter("sluice.uncharged", "rule", rule).increment((double) cost));
        }

        @Override
        public ObservationRegistry observations() {
          ObservationRegistry observations = ObservationRegistry.create();
          registries.ifUnique(
              registry ->
                  observations
                      .observationConfig()
                      .observationHandler(new DefaultMeterObservationHandler(registry)));
          return observations;
        }
      };
    }
  }

  /** Health as Spring Boot 3 knows it. */
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

  /** Health as Spring Boot 4 knows it. */
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
