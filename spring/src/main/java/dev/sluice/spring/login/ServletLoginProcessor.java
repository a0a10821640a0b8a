package dev.sluice.spring.login;

import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.security.authentication.AuthenticationManager;
import org.springframework.security.web.authentication.rememberme.RememberMeAuthenticationFilter;

/** Guards authentication managers and remember-me filters, also those of Spring Security. */
final class ServletLoginProcessor implements BeanPostProcessor {
  private final ServletLogins logins;

  ServletLoginProcessor(ServletLogins logins) {
    this.logins = logins;
  }

  @Override
  public Object postProcessAfterInitialization(Object bean, String name) {
    if (bean instanceof AuthenticationManager) {
      return logins.guardedBean(bean);
    }
    return bean instanceof RememberMeAuthenticationFilter filter
            && !(bean instanceof ServletRememberMe)
        ? logins.guarded(filter)
        : bean;
  }
}
