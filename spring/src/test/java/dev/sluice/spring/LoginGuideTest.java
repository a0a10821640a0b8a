package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testing.JavaSources;
import dev.sluice.testing.Page;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.WebApplicationType;

/**
 * The rule file, the property and the code of docs/guides/protecting-a-login.md do what it says.
 */
class LoginGuideTest {
  private static final String APPLICATION =
      """
      import org.springframework.boot.autoconfigure.SpringBootApplication;
      import org.springframework.context.annotation.Bean;
      import org.springframework.core.annotation.Order;
      import org.springframework.security.config.annotation.web.builders.HttpSecurity;
      import org.springframework.security.web.SecurityFilterChain;
      @SpringBootApplication public class Application {
        @Bean @Order(0) SecurityFilterChain chain(HttpSecurity http) throws Exception {
          return http.securityMatcher("/own-login")
              .authorizeHttpRequests(all -> all.anyRequest().permitAll())
              .csrf(csrf -> csrf.disable())
              .build();
        }
      }
      """;

  @TempDir Path folder;

  @Test
  void pageGuardsALogin() throws IOException, ClassNotFoundException {
    Page page = Page.of("docs/guides/protecting-a-login.md");
    Path rules = folder.resolve("login-rules.yaml");
    Files.writeString(rules, page.blocks("yaml").get(0));
    Matcher property =
        Pattern.compile("login\\.rules: \\[(.*)]").matcher(page.blocks("yaml").get(1));
    assertThat(property.find()).isTrue();
    List<String> java = page.blocks("java");

    Class<?> application =
        JavaSources.in(folder)
            .add("shop.Application", APPLICATION)
            .add("shop.LoginSecurity", java.get(0))
            .add("shop.LoginPage", java.get(1))
            .add("shop.OwnLogin", java.get(2))
            .add("shop.OperatorSecurity", java.get(3))
            .compile()
            .loadClass("shop.Application");

    Thread.currentThread().setContextClassLoader(application.getClassLoader());
    try (App app =
        App.startSecured(
            WebApplicationType.SERVLET,
            application,
            "sluice.rules-file=" + rules,
            "sluice.login.rules=" + property.group(1),
            "spring.security.user.name=ann",
            "spring.security.user.password=river",
            "server.servlet.session.cookie.name=SESSION")) {
      byForm(app);
      byAnnotation(app);
    } finally {
      Thread.currentThread().setContextClassLoader(getClass().getClassLoader());
    }
  }

  private static void byForm(App app) {
    var page = app.get("/sign-in", "Accept", "text/html");
    String session = LoginContract.cookie(page, "SESSION");
    Matcher token = Pattern.compile("name=_csrf value=([^>]+)>").matcher(page.body());
    assertThat(token.find()).isTrue();
    String csrf = "&_csrf=" + token.group(1);
    for (int i = 0; i < 5; i++) {
      String form = LoginContract.form("ann", "guess") + csrf;
      var answer = app.post("/sign-in", form, "Accept", "text/html", "Cookie", session);
      assertThat(App.header(answer, "Location")).endsWith("/sign-in?error");
    }
    String right = LoginContract.form("Ann ", "river") + csrf;
    assertThat(app.post("/sign-in", right, "Cookie", session).statusCode()).isEqualTo(429);
    app.post("/sign-in", right, "Accept", "text/html", "Cookie", session);

    assertThat(app.get("/sign-in?error", "Accept", "text/html", "Cookie", session).body())
        .contains("<p>Locked until <time></time></p>", "new Date(");
    assertThat(app.get("/sign-in", "Accept", "text/html", "Cookie", session).body())
        .contains("<form method=post>");
  }

  private static void byAnnotation(App app) {
    assertThat(
            IntStream.range(0, 6)
                .map(i -> app.post("/own-login?login=bob&password=no", "").statusCode()))
        .containsExactly(401, 401, 401, 401, 401, 429);
    assertThat(
            IntStream.range(0, 9)
                .map(
                    i -> {
                      String password = i == 4 ? "river" : "no";
                      return app.post("/own-login?login=dan&password=" + password, "").statusCode();
                    }))
        .as("a success forgives")
        .containsExactly(401, 401, 401, 401, 200, 401, 401, 401, 401);
    assertThat(app.post("/own-login?login=eve&password=river", "").statusCode()).isEqualTo(200);
  }
}
