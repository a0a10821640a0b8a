package dev.sluice.spring.boot;

import dev.sluice.RuleSource;
import dev.sluice.Rules;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The rules of an application. Refuses changes that remove a rule that is in use. Thread-safe. */
final class RuleLayers implements RuleSource {
  /*
   * An annotation or a route whose rule is removed could only fail or stop limiting. So such a change
   * is refused like any bad change: the previous rules stay in force, and failure() says why. Most
   * sources refuse it themselves. The check on every decision is for sources of the application,
   * which need not implement require().
   */
  private static final Logger LOG = LoggerFactory.getLogger(RuleLayers.class);

  private final RuleSource layers;
  private volatile Set<String> used = Set.of();
  private volatile State state;

  /** The rules that the layers gave last, and those in force. */
  private record State(Rules given, Rules inForce, @Nullable Failure refused) {}

  RuleLayers(RuleSource layers) {
    this.layers = layers;
    Rules first = layers.rules();
    this.state = new State(first, first, null);
  }

  /** From now on, changes must contain these rules. */
  void use(Set<String> names) {
    used = Set.copyOf(names);
    layers.require(this::checkUsed);
  }

  private void checkUsed(Rules rules) {
    List<String> lost = used.stream().filter(name -> rules.find(name) == null).sorted().toList();
    if (!lost.isEmpty()) {
      throw new IllegalArgumentException(
          "the new rules lack %s, which the application uses".formatted(lost));
    }
  }

  @Override
  public void require(Consumer<Rules> check) {
    layers.require(check);
  }

  @Override
  @SuppressWarnings("ReferenceEquality") // a look on every decision must not compare the rules
  public Rules rules() {
    State known = state;
    Rules now = layers.rules();
    return now == known.given ? known.inForce : changed(now);
  }

  @SuppressWarnings("ReferenceEquality")
  private synchronized Rules changed(Rules now) {
    State known = state;
    if (now != known.given) {
      try {
        checkUsed(now);
        known = new State(now, now, null);
      } catch (IllegalArgumentException unfit) {
        String message = String.valueOf(unfit.getMessage());
        LOG.error("Rules refused; the previous ones stay in force: {}", message);
        known = new State(now, known.inForce, new Failure(Instant.now(), message));
      }
      state = known;
    }
    return known.inForce;
  }

  @Override
  public Optional<Failure> failure() {
    Optional<Failure> below = layers.failure();
    return below.isPresent() ? below : Optional.ofNullable(state.refused);
  }

  @Override
  public void close() {
    layers.close();
  }
}
