package dev.sluice.demo;

import dev.sluice.RuleSource;
import dev.sluice.rules.RuleFiles;
import dev.sluice.rules.source.PolledRules;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.web.server.context.WebServerInitializedEvent;
import org.springframework.context.annotation.Bean;
import org.springframework.context.event.EventListener;

/** The demo shop, on http://127.0.0.1:8080. */
@SpringBootApplication
public class Demo {
  private static final Logger LOG = LoggerFactory.getLogger(Demo.class);

  public static void main(String[] args) {
    SpringApplication.run(Demo.class, args);
  }

  @EventListener
  void logAddress(WebServerInitializedEvent started) {
    LOG.info("The shop is open: http://127.0.0.1:{}", started.getWebServer().getPort());
  }

  /** Rules that the back office changes while the shop runs; they override those of the file. */
  @Bean
  RuleSource backOfficeRules(BackOffice office) {
    return PolledRules.every(
        Duration.ofMillis(200), () -> RuleFiles.parse("back office", office.mfaRules()));
  }
}
