package dev.sluice.server.api;

import dev.sluice.Receipt;
import dev.sluice.Settlement;
import dev.sluice.internal.Bounds;
import dev.sluice.server.http.BadInput;
import dev.sluice.server.http.JsonInput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The body of {@code POST /v1/settle}. */
public record SettleRequest(Receipt receipt, Settlement settlement) {
  private static final List<String> MEMBERS = List.of("receipt", "cost", "costs", "forgive");

  /** Facets of an account, joined by '+'. */
  private static final int LONGEST_FACETS = Bounds.MOST_FACETS * (Bounds.LONGEST_FACET_NAME + 1);

  /** The members that were read. What is wrong with them was reported already. */
  private static final class Given {
    private @Nullable String receipt;
    private @Nullable Long cost;
    private Map<String, Long> costs = Map.of();
    private List<String> forgiven = List.of();

    void member(String name, JsonInput input) throws IOException {
      switch (name) {
        case "receipt" -> receipt = input.string(name, Receipts.LONGEST_TEXT);
        case "cost" -> cost = input.number(name);
        case "costs" -> {
          Map<String, Long> given =
              input.numbers(name, Bounds.MOST_RULES, Bounds.LONGEST_RULE_NAME);
          costs = given == null ? Map.of() : given;
        }
        case "forgive" -> {
          List<String> given = input.strings(name, Bounds.MOST_ACCOUNTS, LONGEST_FACETS);
          forgiven = given == null ? List.of() : given;
        }
        default -> throw new IllegalStateException(name);
      }
    }
  }

  /** What a body asks for; {@link BadInput} names everything that is wrong. */
  public static SettleRequest parse(byte[] body, Receipts receipts) {
    Given given = new Given();
    List<String> errors = new ArrayList<>(JsonInput.read(body, MEMBERS, given::member));
    String text = given.receipt;
    if (text == null && errors.isEmpty()) {
      errors.add("receipt: missing (expected: the receipt of an allowed check)");
    }
    Optional<Receipt> receipt = text == null ? Optional.empty() : receipts.open(text);
    if (text != null && receipt.isEmpty()) {
      errors.add(
          "receipt: not sealed with a key of this service (expected: the receipt of a check)");
    }
    receipt.ifPresent(
        found ->
            CheckRequest.checkCosts(
                given.costs, found.rules(), "a rule that the call did not name", errors));
    if (!errors.isEmpty()) {
      throw new BadInput(errors, false);
    }
    return new SettleRequest(
        receipt.orElseThrow(), new Settlement(given.cost, given.costs, Set.copyOf(given.forgiven)));
  }
}
