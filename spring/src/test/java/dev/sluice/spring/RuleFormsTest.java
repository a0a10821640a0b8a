package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import reactor.core.publisher.Mono;

/** Forms of rules, from the properties of an application to its answers. */
@ExtendWith(OutputCaptureExtension.class)
class RuleFormsTest {
  private static final String[] SETTINGS = {
    "sluice.rules.Exports.by=everyone",
    "sluice.rules.Exports.limit=2 per 1h",
    "sluice.rules.Exports.lock=1h",
    "sluice.rules.Exports.lockOn=limit",
    "sluice.rules.ByAddress.by=ip",
    "sluice.rules.ByAddress.limit=1 per 1h",
    "sluice.rules.ByAddress.lock=1m",
    "sluice.rules.ByAddress.exempt[0].ip=2001:db8::/64",
    "sluice.routes[0].path=/exports",
    "sluice.routes[0].rule=Exports",
    "sluice.trusted-proxies=127.0.0.1",
    "management.endpoints.web.exposure.include=sluice",
  };

  @RestController
  static class Pages {
    @GetMapping("/exports")
    public Mono<String> exports() {
      return Mono.just("exports");
    }

    @GetMapping("/address")
    @RateLimit("ByAddress")
    public Mono<String> address() {
      return Mono.just("address");
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @Import(Pages.class)
  static class Main {}

  @ParameterizedTest
  @EnumSource(names = {"SERVLET", "REACTIVE"})
  void propertiesSayWhatRuleFilesSay(WebApplicationType type, CapturedOutput output) {
    try (App app = App.start(type, Main.class, SETTINGS)) {
      assertThat(statuses(app, "/exports", "203.0.113.1", 1)).containsExactly(200);
      assertThat(statuses(app, "/exports", "203.0.113.2", 2)).containsExactly(200, 429);
      assertThat(app.get("/actuator/sluice/locks").body()).contains("everyone=all");
      assertThat(app.send("DELETE", "/actuator/sluice/locks/Exports/everyone=all").body())
          .contains("true");
      assertThat(statuses(app, "/exports", "203.0.113.3", 1)).containsExactly(200);

      assertThat(statuses(app, "/address", "2001:db8::5", 3)).containsOnly(200);
      assertThat(statuses(app, "/address", "2001:db8:1::5", 2)).containsExactly(200, 429);
    }
    assertThat(output).containsOnlyOnce("rule 'ByAddress': lock is 1m, and the limit by itself");
  }

  private static List<Integer> statuses(App app, String path, String from, int times) {
    return IntStream.range(0, times)
        .mapToObj(i -> app.get(path, "X-Forwarded-For", from).statusCode())
        .toList();
  }
}
