package dev.sluice.bench.report;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;

/** The versions of the other limiters, from the build. */
final class Versions {
  private static final Properties FILE = load();

  private Versions() {}

  /** The version of a limiter, by its name in the properties file. */
  static String of(String peer) {
    return FILE.getProperty(peer, "unknown");
  }

  /** All versions, for one line of text. */
  static String peers() {
    return "Lettuce %s, Bucket4j %s, Redisson %s, Spring Cloud Gateway %s, Guava %s, Resilience4j %s, Armeria %s"
        .formatted(
            of("lettuce"),
            of("bucket4j"),
            of("redisson"),
            of("gateway"),
            of("guava"),
            of("resilience4j"),
            of("armeria"));
  }

  private static Properties load() {
    Properties properties = new Properties();
    try (InputStream in = Versions.class.getResourceAsStream("versions.properties")) {
      if (in != null) {
        properties.load(in);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return properties;
  }
}
