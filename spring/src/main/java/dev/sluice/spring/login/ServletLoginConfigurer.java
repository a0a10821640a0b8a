package dev.sluice.spring.login;

import org.springframework.context.ApplicationContext;
import org.springframework.security.authentication.AuthenticationManager;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.config.annotation.web.configurers.AbstractHttpConfigurer;
import org.springframework.security.web.authentication.logout.LogoutFilter;

/** Guards every {@code HttpSecurity}; Spring Security finds it in META-INF/spring.factories. */
public final class ServletLoginConfigurer
    extends AbstractHttpConfigurer<ServletLoginConfigurer, HttpSecurity> {
  @Override
  public void configure(HttpSecurity http) {
    ServletLogins logins =
        http.getSharedObject(ApplicationContext.class)
            .getBeanProvider(ServletLogins.class)
            .getIfAvailable();
    if (logins != null) {
      // Runs before the application's configurers, which take the manager from here.
      AuthenticationManager manager = http.getSharedObject(AuthenticationManager.class);
      if (manager != null) {
        http.setSharedObject(AuthenticationManager.class, logins.guarded(manager));
      }
      http.addFilterAfter(new ServletCountdown(), LogoutFilter.class);
    }
  }
}
