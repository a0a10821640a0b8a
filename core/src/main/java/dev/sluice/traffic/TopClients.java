package dev.sluice.traffic;

import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.datasketches.frequencies.ItemsSketch;

/**
 * The clients of all nodes with the most calls, and those with the most refused calls, in the last
 * five to ten minutes.
 */
public record TopClients(List<Client> busiest, List<Client> refused) {
  /**
   * A client.
   *
   * @param identity of an account, with secret values hashed
   * @param calls about how many calls it made; 0 if that is not known
   * @param denied about how many of them were refused; 0 if that is not known
   * @param error by how much the number that it is listed for may be wrong
   */
  public record Client(String identity, long calls, long denied, long error) {}

  /** Adds up what the nodes have shared. */
  static TopClients merge(Collection<String> texts) {
    Merging busy = new Merging();
    Merging refused = new Merging();
    for (String text : texts) {
      Lines.read(text)
          .filter(words -> words.size() >= 4)
          .forEach(
              words -> {
                switch (words.get(0)) {
                  case "busy" -> busy.add(words);
                  case "refused" -> refused.add(words);
                  default -> {} // of a newer version
                }
              });
    }
    Map<String, Long> calls = busy.known();
    Map<String, Long> denied = refused.known();
    return new TopClients(
        busy.top().stream()
            .map(
                each ->
                    new Client(
                        each.identity(),
                        each.calls(),
                        denied.getOrDefault(each.identity(), 0L),
                        each.error() + busy.error(each.identity())))
            .toList(),
        refused.top().stream()
            .map(
                each ->
                    new Client(
                        each.identity(),
                        Math.max(each.calls(), calls.getOrDefault(each.identity(), 0L)),
                        each.calls(),
                        each.error() + refused.error(each.identity())))
            .toList());
  }

  /** One list that is being merged. */
  private static final class Merging {
    private static final int SKETCH_SIZE = 8_192;

    private final ItemsSketch<String> sketch = new ItemsSketch<>(SKETCH_SIZE);
    private final Map<String, Long> errors = new HashMap<>();

    void add(List<String> words) {
      long calls = Lines.number(words, 2);
      if (calls > 0) {
        sketch.update(words.get(1), calls);
        errors.merge(words.get(1), Lines.number(words, 3), Long::sum);
      }
    }

    List<Clients.Client> top() {
      return Clients.top(sketch, Clients.SHARED);
    }

    long error(String identity) {
      return errors.getOrDefault(identity, 0L);
    }

    Map<String, Long> known() {
      Map<String, Long> known = new HashMap<>();
      top().forEach(client -> known.put(client.identity(), client.calls()));
      return known;
    }
  }
}
