package dev.sluice.spring.login;

import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.security.authentication.AuthenticationManager;
import org.springframework.security.web.authentication.rememberme.RememberMeAuthenticationFilter;

/** Guards what checks passwords and cookies, be it a bean or made by Spring Security. */
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
