package dev.sluice.bench.report;

import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The figures by key, in the order in which they were measured. Not thread-safe. */
public final class Figures {
  private static final Pattern ENTRY = Pattern.compile("\"([^\"]+)\": *(-?[0-9.]+|null)");

  private static final Pattern MAJOR = Pattern.compile("\\d+");

  /** The prefix of what must be equal for two runs to be comparable: cores, version of Redis. */
  static final String MACHINE = "machine.";

  private final Map<String, Double> byKey = new LinkedHashMap<>();
  private @Nullable String redisVersion;

  public void put(String key, double value) {
    byKey.put(key, value);
  }

  /** Figures of a run on this machine. */
  public static Figures here() {
    Figures figures = new Figures();
    figures.put(MACHINE + "cores", Runtime.getRuntime().availableProcessors());
    return figures;
  }

  /** The figure of a key; NaN if it was not measured. */
  public double get(String key) {
    return byKey.getOrDefault(key, Double.NaN);
  }

  public Map<String, Double> all() {
    return byKey;
  }

  /** Sets the server and its version, such as {@code Redis 7.0.15}. */
  public void measuredOn(String redisVersion) {
    this.redisVersion = redisVersion;
    Matcher major = MAJOR.matcher(redisVersion);
    if (major.find()) {
      put(MACHINE + "redis", Double.parseDouble(major.group()));
    }
  }

  /** Adds the figures of another run, over those of this one. */
  public void add(Figures other) {
    byKey.putAll(other.byKey);
    other.redisVersion().ifPresent(this::measuredOn);
  }

  public Optional<String> redisVersion() {
    return Optional.ofNullable(redisVersion);
  }

  /** A flat JSON object; a figure that could not be measured is null. */
  public String json() {
    StringBuilder text = new StringBuilder("{");
    byKey.forEach(
        (key, value) ->
            text.append(text.length() == 1 ? "\n" : ",\n")
                .append("  \"")
                .append(key)
                .append("\": ")
                .append(Double.isFinite(value) ? plain(value) : "null"));
    return text.append("\n}\n").toString();
  }

  /** Adds the figures of a file that {@link #json} wrote. */
  public void read(String json) {
    for (MatchResult entry : ENTRY.matcher(json).results().toList()) {
      String value = entry.group(2);
      put(entry.group(1), value.equals("null") ? Double.NaN : Double.parseDouble(value));
    }
  }

  /** Rounds to at least four significant digits. */
  private static String plain(double value) {
    return String.format(Locale.ROOT, Math.abs(value) >= 1_000 ? "%.0f" : "%.4f", value);
  }
}
