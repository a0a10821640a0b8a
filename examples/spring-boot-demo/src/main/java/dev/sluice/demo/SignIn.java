package dev.sluice.demo;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.Principal;
import org.jspecify.annotations.Nullable;
import org.springframework.context.annotation.Bean;
import org.springframework.core.io.ClassPathResource;
import org.springframework.http.MediaType;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.config.annotation.web.configurers.AbstractHttpConfigurer;
import org.springframework.security.core.userdetails.User;
import org.springframework.security.provisioning.InMemoryUserDetailsManager;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestAttribute;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.util.HtmlUtils;

/** The login. Only the property {@code sluice.login.rules} makes Sluice count failed logins. */
@RestController
class SignIn {
  private final String page;

  SignIn() throws IOException {
    this.page =
        new ClassPathResource("pages/sign-in.html").getContentAsString(StandardCharsets.UTF_8);
  }

  @Bean
  static SecurityFilterChain security(HttpSecurity http) throws Exception {
    return http.authorizeHttpRequests(
            all -> all.requestMatchers("/member").authenticated().anyRequest().permitAll())
        .formLogin(form -> form.loginPage("/sign-in").defaultSuccessUrl("/member", true))
        // This shop does nothing for a signed-in customer but greet; a real one keeps CSRF
        // protection.
        .csrf(AbstractHttpConfigurer::disable)
        .build();
  }

  @Bean
  static InMemoryUserDetailsManager customers() {
    return new InMemoryUserDetailsManager(
        User.withUsername("ann").password("{noop}river").roles("CUSTOMER").build());
  }

  /** The login page; after a refused login, Sluice supplies the time at which the next can pass. */
  @GetMapping(path = "/sign-in", produces = MediaType.TEXT_HTML_VALUE)
  public String page(
      @RequestAttribute(name = "loginRestrictedUntil", required = false) @Nullable Long until) {
    return page.replace("{{until}}", until == null ? "" : until.toString());
  }

  @GetMapping(path = "/member", produces = MediaType.TEXT_HTML_VALUE)
  public String member(Principal customer) {
    return "<!doctype html><title>Shop</title><h1 id=\"title\">Welcome, %s</h1>"
        .formatted(HtmlUtils.htmlEscape(customer.getName()));
  }
}
