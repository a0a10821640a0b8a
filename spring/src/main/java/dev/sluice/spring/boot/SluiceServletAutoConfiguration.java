package dev.sluice.spring.boot;

import dev.sluice.spring.SluiceProperties;
import dev.sluice.spring.SluiceProperties.Place;
import dev.sluice.spring.call.Gate;
import dev.sluice.spring.mvc.ServletHandlers;
import dev.sluice.spring.mvc.ServletPaths;
import dev.sluice.spring.mvc.ServletRefusalFilter;
import dev.sluice.spring.mvc.ServletRefusals;
import dev.sluice.spring.mvc.ServletRouteFilter;
import dev.sluice.spring.web.Refusals;
import dev.sluice.spring.web.Routes;
import jakarta.servlet.Filter;
import java.util.function.Supplier;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.web.servlet.HandlerExceptionResolver;
import org.springframework.web.servlet.ViewResolver;
import org.springframework.web.servlet.handler.AbstractHandlerMapping;

/** Configures Sluice for servlet applications. */
@AutoConfiguration(after = SluiceAutoConfiguration.class)
@ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.SERVLET)
@ConditionalOnBean(Gate.class)
public class SluiceServletAutoConfiguration {
  /** The order of Spring Security's filter in Spring Boot. */
  static final int SECURITY = -100;

  @Bean
  Filter sluiceFilterBeforeSecurity(
      SluiceProperties properties,
      Gate gate,
      ObjectProvider<ServletPaths.Handlers> handlers,
      ObjectProvider<ServletRouteFilter.Refuser> refusers) {
    return filter(Place.BEFORE_SECURITY, properties, gate, handlers, refusers, SECURITY - 5);
  }

  @Bean
  Filter sluiceFilterAfterSecurity(
      SluiceProperties properties,
      Gate gate,
      ObjectProvider<ServletPaths.Handlers> handlers,
      ObjectProvider<ServletRouteFilter.Refuser> refusers) {
    return filter(Place.AFTER_SECURITY, properties, gate, handlers, refusers, SECURITY + 5);
  }

  private static Filter filter(
      Place place,
      SluiceProperties properties,
      Gate gate,
      ObjectProvider<ServletPaths.Handlers> handlers,
      ObjectProvider<ServletRouteFilter.Refuser> refusers,
      int order) {
    ServletPaths paths =
        new ServletPaths(handlers.getIfAvailable(() -> ServletPaths.Handlers.NONE));
    return new ServletRouteFilter(
        Routes.at(place, properties), paths, gate, refuser(refusers), order);
  }

  private static Supplier<ServletRouteFilter.Refuser> refuser(
      ObjectProvider<ServletRouteFilter.Refuser> refusers) {
    return () -> refusers.getIfAvailable(() -> ServletRouteFilter.Refuser.PLAIN);
  }

  /** Comes before Spring Security, whose filters pass refusals on. */
  @Bean
  Filter sluiceRefusalFilter(ObjectProvider<ServletRouteFilter.Refuser> refusers) {
    return new ServletRefusalFilter(refuser(refusers), SECURITY - 6);
  }

  /** With Spring MVC. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(HandlerExceptionResolver.class)
  static class Mvc {
    @Bean
    ServletHandlers sluiceHandlers(ObjectProvider<AbstractHandlerMapping> mappings) {
      return new ServletHandlers(() -> mappings.stream().toList());
    }

    @Bean
    ServletRefusals sluiceRefusals(
        ApplicationContext beans,
        ObjectProvider<HandlerExceptionResolver> resolvers,
        ObjectProvider<ViewResolver> views) {
      return new ServletRefusals(new Refusals(beans), resolvers, views);
    }
  }
}
