package dev.sluice.rules.source;

import dev.sluice.Facet;
import dev.sluice.Rule;
import dev.sluice.RuleSource;
import dev.sluice.Rules;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Combines several sources. If two define a rule or facet of the same name, the later source wins.
 *
 * <p>Layers that do not fit together are refused, and the rules from before stay in force. An
 * example is a rule that counts by a facet which no layer defines, unless the layers are {@link
 * #open}. Thread-safe. Closing it closes the layers.
 */
public final class LayeredRules implements RuleSource {
  /*
   * A layer returns the same object until its rules change. So comparing references shows whether
   * anything changed, and only then are the layers combined.
   *
   * Each layer checks its changes against the others. So it reports "in force" only for rules that
   * are, and reports a mistake when the change arrives, not at the next call.
   */
  private final List<RuleSource> layers;
  private final boolean open;
  private final Standing standing;
  private volatile List<Rules> parts;

  private LayeredRules(List<RuleSource> layers, boolean open) {
    this.layers = layers;
    this.open = open;
    this.parts = current(layers);
    this.standing = new Standing("layered rules", together(parts, open), InstantSource.system());
    requireOfEach(layers, together -> {});
  }

  /** Makes every layer check its changes together with the current rules of the others. */
  private void requireOfEach(List<RuleSource> layers, Consumer<Rules> check) {
    for (int i = 0; i < layers.size(); i++) {
      int changing = i;
      layers
          .get(i)
          .require(
              newest -> {
                List<Rules> parts = new ArrayList<>(current(layers));
                parts.set(changing, newest);
                check.accept(together(parts, open));
              });
    }
  }

  /** Combines sources; the last one has the highest priority. */
  public static LayeredRules of(RuleSource... lowestFirst) {
    return new LayeredRules(List.of(lowestFirst), false);
  }

  /**
   * Combines sources whose rules may also count by undefined facets, which the calling code
   * supplies.
   */
  public static LayeredRules open(RuleSource... lowestFirst) {
    return new LayeredRules(List.of(lowestFirst), true);
  }

  @Override
  @SuppressWarnings("ReferenceEquality") // every decision comes here; comparing rules would be slow
  public Rules rules() {
    List<Rules> known = parts;
    for (int i = 0; i < known.size(); i++) {
      if (layers.get(i).rules() != known.get(i)) {
        return merged();
      }
    }
    return standing.rules();
  }

  private synchronized Rules merged() {
    List<Rules> now = current(layers);
    try {
      standing.accept(together(now, open));
    } catch (IllegalArgumentException e) {
      standing.refuse(String.valueOf(e.getMessage()));
    }
    parts = now;
    return standing.rules();
  }

  /** The failures of all layers and between them, since the first of them began. */
  @Override
  public Optional<Failure> failure() {
    rules();
    List<Failure> failures =
        Stream.concat(
                layers.stream().map(RuleSource::failure).flatMap(Optional::stream),
                standing.failure().stream())
            .toList();
    Optional<Instant> since = failures.stream().map(Failure::since).min(Instant::compareTo);
    return since.map(
        first ->
            new Failure(
                first, failures.stream().map(Failure::message).collect(Collectors.joining("\n"))));
  }

  @Override
  public void require(Consumer<Rules> check) {
    standing.require(check);
    requireOfEach(layers, check);
  }

  @Override
  public void close() {
    layers.forEach(RuleSource::close);
  }

  private static List<Rules> current(List<RuleSource> layers) {
    return layers.stream().map(RuleSource::rules).toList();
  }

  private static Rules together(List<Rules> parts, boolean open) {
    Map<String, Rule> rules = new LinkedHashMap<>();
    Map<String, Facet> facets = new LinkedHashMap<>();
    for (Rules part : parts) {
      part.all().forEach(rule -> rules.put(rule.name(), rule));
      facets.putAll(part.facets());
    }
    return open
        ? Rules.open(rules.values(), facets.values())
        : Rules.of(rules.values(), facets.values());
  }
}
