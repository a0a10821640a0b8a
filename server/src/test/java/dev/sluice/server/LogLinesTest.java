package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.PatternLayout;
import ch.qos.logback.classic.spi.LoggingEvent;
import dev.sluice.server.health.HealthRoutes;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The plain log: one line for each event, whatever is in it. */
class LogLinesTest {
  private static String line(String message) throws IOException {
    Matcher pattern =
        Pattern.compile("<pattern>(.*)</pattern>")
            .matcher(new String(HealthRoutes.resource("log-plain.xml"), StandardCharsets.UTF_8));
    assertThat(pattern.find()).isTrue();
    LoggerContext context = new LoggerContext();
    PatternLayout layout = new PatternLayout();
    layout.setContext(context);
    layout.setPattern(pattern.group(1));
    layout.start();
    LoggingEvent event =
        new LoggingEvent("x", context.getLogger("sluice"), Level.INFO, message, null, null);
    return layout.doLayout(event);
  }

  @Test
  void aLineBreakIsABarAndNoOtherControlCharacterIsWritten() throws IOException {
    assertThat(line("stay in force:\nrules.yaml:2  not well-formed\r\nrules.yaml:3  \u001b[2J\rx"))
        .endsWith(" stay in force: | rules.yaml:2  not well-formed | rules.yaml:3  ?[2J?x \n");
  }
}
