package dev.sluice.server;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.slf4j.LoggerFactory;

/** The lines that a logger writes while this is open. */
final class Logged implements AutoCloseable {
  private final Logger logger;
  private final List<String> lines = new CopyOnWriteArrayList<>();
  private final AppenderBase<ILoggingEvent> appender =
      new AppenderBase<>() {
        @Override
        protected void append(ILoggingEvent event) {
          lines.add(event.getFormattedMessage() + " " + event.getKeyValuePairs());
        }
      };

  Logged(String name) {
    this.logger = (Logger) LoggerFactory.getLogger(name);
    logger.setLevel(Level.INFO);
    appender.start();
    logger.addAppender(appender);
  }

  List<String> lines() {
    return lines;
  }

  @Override
  public void close() {
    logger.detachAppender(appender);
  }
}
