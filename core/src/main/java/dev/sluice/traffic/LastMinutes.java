package dev.sluice.traffic;

import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.function.BinaryOperator;

/**
 * Sums of the last 15 minutes, or up to a minute more. Used under the monitor of its owner.
 *
 * @param <K> what is counted
 * @param <V> a count
 */
final class LastMinutes<K, V> {
  private static final int MINUTES = 15;

  private final BinaryOperator<V> plus;
  private final NavigableMap<Long, Map<K, V>> minutes = new TreeMap<>();

  LastMinutes(BinaryOperator<V> plus) {
    this.plus = plus;
  }

  void add(Instant at, K key, V count) {
    minutes
        .computeIfAbsent(History.minuteOf(at), unknown -> new HashMap<>())
        .merge(key, count, plus);
  }

  /** Forgets what is too old. */
  void turn(Instant now) {
    minutes.headMap(History.minuteOf(now) - MINUTES).clear();
  }

  Map<K, V> sums() {
    Map<K, V> sums = new HashMap<>();
    minutes.values().forEach(minute -> minute.forEach((key, n) -> sums.merge(key, n, plus)));
    return sums;
  }
}
