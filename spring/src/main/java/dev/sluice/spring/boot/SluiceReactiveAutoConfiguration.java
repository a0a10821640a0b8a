package dev.sluice.spring.boot;

import dev.sluice.spring.SluiceProperties;
import dev.sluice.spring.SluiceProperties.Place;
import dev.sluice.spring.call.Answer;
import dev.sluice.spring.call.Gate;
import dev.sluice.spring.web.Refusals;
import dev.sluice.spring.web.Routes;
import dev.sluice.spring.webflux.ReactiveAdvice;
import dev.sluice.spring.webflux.ReactiveRefusals;
import dev.sluice.spring.webflux.ReactiveRouteFilter;
import java.util.function.Supplier;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.core.annotation.Order;
import org.springframework.util.function.SingletonSupplier;
import org.springframework.web.reactive.HandlerAdapter;
import org.springframework.web.reactive.HandlerResultHandler;
import org.springframework.web.reactive.handler.AbstractHandlerMapping;
import org.springframework.web.server.WebExceptionHandler;
import org.springframework.web.server.WebFilter;
import reactor.core.publisher.Mono;

/** Configures Sluice for WebFlux. */
@AutoConfiguration(after = SluiceAutoConfiguration.class)
@ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.REACTIVE)
@ConditionalOnBean(Gate.class)
public class SluiceReactiveAutoConfiguration {
  private static final int SECURITY = -100; // the order of Spring Security's filter
  private static final int BEFORE_SPRING_BOOT =
      -2; // whose handler answers unknown exceptions with 500

  @Bean
  WebFilter sluiceFilterBeforeSecurity(
      SluiceProperties properties,
      Gate gate,
      ReactiveRefusals refusals,
      ObjectProvider<AbstractHandlerMapping> mappings) {
    return filter(Place.BEFORE_SECURITY, properties, gate, refusals, mappings, SECURITY - 5);
  }

  @Bean
  WebFilter sluiceFilterAfterSecurity(
      SluiceProperties properties,
      Gate gate,
      ReactiveRefusals refusals,
      ObjectProvider<AbstractHandlerMapping> mappings) {
    return filter(Place.AFTER_SECURITY, properties, gate, refusals, mappings, SECURITY + 5);
  }

  private static WebFilter filter(
      Place place,
      SluiceProperties properties,
      Gate gate,
      ReactiveRefusals refusals,
      ObjectProvider<AbstractHandlerMapping> mappings,
      int order) {
    // Looked up with the first request, because filters are created before handlers.
    Supplier<Boolean> ignoresCase =
        SingletonSupplier.of(
            () ->
                mappings.stream().anyMatch(each -> !each.getPathPatternParser().isCaseSensitive()));
    return new ReactiveRouteFilter(
        Routes.at(place, properties), ignoresCase::get, gate, refusals, order);
  }

  @Bean
  ReactiveRefusals sluiceRefusals(
      ApplicationContext beans,
      ObjectProvider<HandlerAdapter> adapters,
      ObjectProvider<HandlerResultHandler> handlers) {
    return new ReactiveRefusals(new Refusals(beans), adapters, handlers);
  }

  @Bean
  ReactiveAdvice.OfRefusals sluiceRefusalAdvice(ApplicationContext beans) {
    return new ReactiveAdvice.OfRefusals(new Refusals(beans));
  }

  @Bean
  ReactiveAdvice.OfUncountable sluiceUncountableAdvice() {
    return new ReactiveAdvice.OfUncountable();
  }

  /** For handlers without controller advice, such as router functions. */
  @Bean
  @Order(BEFORE_SPRING_BOOT)
  WebExceptionHandler sluiceExceptionHandler() {
    return (exchange, error) -> {
      Answer answer = Refusals.answerTo(error);
      return answer == null || exchange.getResponse().isCommitted()
          ? Mono.error(error)
          : ReactiveRouteFilter.write(answer, exchange);
    };
  }
}
