package dev.sluice.bench;

import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/** What was measured: one number a key, in the order of measuring. Not thread-safe. */
final class Figures {
  private final Map<String, Double> byKey = new LinkedHashMap<>();

  void put(String key, double value) {
    byKey.put(key, value);
  }

  /** The figure of a key; not a number if it was not measured. */
  double get(String key) {
    return byKey.getOrDefault(key, Double.NaN);
  }

  Map<String, Double> all() {
    return byKey;
  }

  /** A flat JSON object; a figure that could not be measured is null. */
  String json() {
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

  /** At least four digits that count. */
  private static String plain(double value) {
    return String.format(Locale.ROOT, Math.abs(value) >= 1_000 ? "%.0f" : "%.4f", value);
  }
}
