package dev.sluice.spring;

import dev.sluice.http.HttpAnswer;
import dev.sluice.spring.SluiceProperties.Place;
import jakarta.servlet.Filter;
import java.io.IOException;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.web.servlet.HandlerExceptionResolver;
import org.springframework.web.servlet.ModelAndView;
import org.springframework.web.servlet.handler.AbstractHandlerMapping;

/** Sluice in a servlet container. */
@AutoConfiguration(after = SluiceAutoConfiguration.class)
@ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.SERVLET)
@ConditionalOnBean(Gate.class)
public class SluiceServletAutoConfiguration {
  /** Where Spring Boot puts Spring Security's filter. */
  static final int SECURITY = -100;

  @Bean
  Filter sluiceFilterBeforeSecurity(
      SluiceProperties properties, Gate gate, ObjectProvider<ServletPaths.Handlers> handlers) {
    return filter(Place.BEFORE_SECURITY, properties, gate, handlers, SECURITY - 5);
  }

  @Bean
  Filter sluiceFilterAfterSecurity(
      SluiceProperties properties, Gate gate, ObjectProvider<ServletPaths.Handlers> handlers) {
    return filter(Place.AFTER_SECURITY, properties, gate, handlers, SECURITY + 5);
  }

  private static Filter filter(
      Place place,
      SluiceProperties properties,
      Gate gate,
      ObjectProvider<ServletPaths.Handlers> handlers,
      int order) {
    ServletPaths paths =
        new ServletPaths(handlers.getIfAvailable(() -> ServletPaths.Handlers.NONE));
    return new ServletRouteFilter(Routes.at(place, properties), paths, gate, order);
  }

  /** Answers of controllers. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(HandlerExceptionResolver.class)
  static class Mvc {
    @Bean
    ServletHandlers sluiceHandlers(ObjectProvider<AbstractHandlerMapping> mappings) {
      return new ServletHandlers(() -> mappings.stream().toList());
    }

    @Bean
    Refusals sluiceRefusals(Gate gate, ApplicationContext beans) {
      return new Refusals(gate, beans, ServletEdge::current);
    }

    /** For handlers that no advice applies to. */
    @Bean
    @Order(Ordered.LOWEST_PRECEDENCE)
    HandlerExceptionResolver sluiceExceptionResolver(Refusals refusals) {
      return (request, response, handler, error) -> {
        HttpAnswer answer = refusals.answerTo(error);
        if (answer == null) {
          return null;
        }
        try {
          ServletRouteFilter.write(answer, response);
        } catch (IOException e) {
          return null;
        }
        return new ModelAndView();
      };
    }
  }
}
