package dev.sluice.spring.login;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Role;
import org.springframework.security.core.context.SecurityContextHolder;
import org.springframework.security.core.context.SecurityContextHolderStrategy;

/** Limits the failed logins of Spring Security by {@code sluice.login}. */
@AutoConfiguration(
    // By name: that package needs the login guard, and packages must not have cycles.
    afterName = "dev.sluice.spring.boot.SluiceAutoConfiguration")
@ConditionalOnBean(LoginGuard.class)
@ConditionalOnClass(
    name = "org.springframework.security.config.annotation.web.configurers.AbstractHttpConfigurer")
public class SluiceLoginAutoConfiguration {

  /** In a servlet container. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.SERVLET)
  static class OfServlets {
    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE) // created before bean post-processors, on purpose
    static ServletLogins sluiceLogins(
        ObjectProvider<LoginGuard> guard, ObjectProvider<SecurityContextHolderStrategy> context) {
      return new ServletLogins(
          guard::getObject,
          () -> context.getIfUnique(SecurityContextHolder::getContextHolderStrategy));
    }

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static ServletLoginProcessor sluiceLoginProcessor(ServletLogins logins) {
      return new ServletLoginProcessor(logins);
    }
  }

  /** In WebFlux. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.REACTIVE)
  static class OfWebFlux {
    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE) // created before bean post-processors, on purpose
    static ReactiveLogins sluiceLogins(ObjectProvider<LoginGuard> guard) {
      return new ReactiveLogins(guard::getObject);
    }

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static ReactiveLoginProcessor sluiceLoginProcessor(ReactiveLogins logins) {
      return new ReactiveLoginProcessor(logins);
    }

    @Bean
    ReactiveCountdown sluiceCountdown() {
      return new ReactiveCountdown();
    }
  }
}
