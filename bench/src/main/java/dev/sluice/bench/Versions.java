package dev.sluice.bench;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;

/** The versions of the peers, as the build chose them. */
final class Versions {
  private static final Properties FILE = load();

  static final String BUCKET4J = FILE.getProperty("bucket4j", "unknown");
  static final String REDISSON = FILE.getProperty("redisson", "unknown");
  static final String LETTUCE = FILE.getProperty("lettuce", "unknown");

  private Versions() {}

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
