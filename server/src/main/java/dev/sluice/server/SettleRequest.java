package dev.sluice.server;

import dev.sluice.Receipt;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The body of {@code POST /v1/settle}. */
record SettleRequest(Receipt receipt, long cost) {
  /** What a body asks for; {@link BadInput} names everything that is wrong. */
  static SettleRequest parse(byte[] body, Receipts receipts) {
    @Nullable String[] text = new String[1];
    @Nullable Long[] cost = new Long[1];
    boolean[] costGiven = new boolean[1];
    List<String> errors =
        new ArrayList<>(
            JsonInput.read(
                body,
                List.of("receipt", "cost"),
                (name, input) -> {
                  if (name.equals("receipt")) {
                    text[0] = input.string(name, Receipts.LONGEST_TEXT);
                  } else {
                    costGiven[0] = true;
                    cost[0] = input.number(name);
                  }
                }));
    if (text[0] == null && errors.isEmpty()) {
      errors.add("receipt: missing (expected: the receipt of an allowed check)");
    }
    if (!costGiven[0]) {
      errors.add("cost: missing (expected: what the call really cost; 0 gives all back)");
    }
    Optional<Receipt> receipt = text[0] == null ? Optional.empty() : receipts.open(text[0]);
    if (text[0] != null && receipt.isEmpty()) {
      errors.add(
          "receipt: not sealed with a key of this service (expected: the receipt of a check)");
    }
    Long actual = cost[0];
    if (actual == null || !errors.isEmpty()) {
      throw new BadInput(errors, false);
    }
    return new SettleRequest(receipt.orElseThrow(), actual);
  }
}
