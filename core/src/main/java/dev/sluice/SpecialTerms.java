package dev.sluice;

import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The overrides of a rule: finds the first that matches a caller and has not ended. Thread-safe.
 */
final class SpecialTerms {
  /*
   * Most overrides name exact values, and there may be thousands of them. They are indexed: for each
   * combination of facets that some override names, a map from the values to the positions of the
   * overrides. So a call needs one look-up for each combination. Address ranges are compared one by
   * one.
   */
  private final List<Rule.Special> all;
  private final List<Who> who;
  private final List<Exact> exact;
  private final int[] others;
  private final AtomicLongArray appliedSeconds;

  /** The overrides that name values of the same facets. */
  private record Exact(Who first, Map<List<String>, int[]> positions) {}

  SpecialTerms(List<Rule.Special> all, List<Who> who) {
    this.all = all;
    this.who = who;
    this.appliedSeconds = new AtomicLongArray(all.size());
    Map<List<String>, Exact> byFacets = new LinkedHashMap<>();
    List<Integer> compared = new ArrayList<>();
    for (int i = 0; i < who.size(); i++) {
      Who each = who.get(i);
      List<String> values = each.exactValues();
      if (values == null) {
        compared.add(i);
      } else {
        int position = i;
        byFacets
            .computeIfAbsent(each.facets(), facets -> new Exact(each, new LinkedHashMap<>()))
            .positions
            .merge(values, new int[] {position}, SpecialTerms::joined);
      }
    }
    this.exact = List.copyOf(byFacets.values());
    this.others = compared.stream().mapToInt(Integer::intValue).toArray();
  }

  private static int[] joined(int[] some, int[] more) {
    int[] joined = Arrays.copyOf(some, some.length + more.length);
    System.arraycopy(more, 0, joined, some.length, more.length);
    return joined;
  }

  boolean isEmpty() {
    return all.isEmpty();
  }

  /** The override for a caller, or null. */
  Rule.@Nullable Special find(Identity caller, InstantSource clock) {
    int best = firstExact(caller, clock);
    Who.Addresses addresses = new Who.Addresses(caller);
    for (int position : others) {
      if (position > best) {
        break;
      }
      if (all.get(position).holdsAt(clock) && who.get(position).holds(caller, addresses)) {
        best = position;
        break;
      }
    }
    if (best == Integer.MAX_VALUE) {
      return null;
    }
    noteApplied(best);
    return all.get(best);
  }

  /** The positions of all overrides that match a caller, also of those that have ended. */
  int[] matching(Identity caller) {
    Who.Addresses addresses = new Who.Addresses(caller);
    return IntStream.concat(
            exact.stream().flatMapToInt(each -> exactly(each, caller)),
            Arrays.stream(others).filter(position -> who.get(position).holds(caller, addresses)))
        .sorted()
        .toArray();
  }

  private static IntStream exactly(Exact each, Identity caller) {
    List<String> values = each.first.valuesOf(caller);
    int[] positions = values == null ? null : each.positions.get(values);
    return positions == null ? IntStream.empty() : Arrays.stream(positions);
  }

  private int firstExact(Identity caller, InstantSource clock) {
    int best = Integer.MAX_VALUE;
    for (Exact each : exact) {
      List<String> values = each.first.valuesOf(caller);
      int[] positions = values == null ? null : each.positions.get(values);
      for (int i = 0; positions != null && i < positions.length && positions[i] < best; i++) {
        if (all.get(positions[i]).holdsAt(clock)) {
          best = positions[i];
        }
      }
    }
    return best;
  }

  /** Remembers when an override applied; writes at most once a second. */
  private void noteApplied(int position) {
    long second = System.currentTimeMillis() / 1000;
    if (appliedSeconds.get(position) != second) {
      appliedSeconds.lazySet(position, second);
    }
  }

  /** The second in which each override last applied; 0 if it did not. */
  long[] appliedSeconds() {
    long[] seconds = new long[all.size()];
    for (int i = 0; i < seconds.length; i++) {
      seconds[i] = appliedSeconds.get(i);
    }
    return seconds;
  }
}
