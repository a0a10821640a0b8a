package dev.sluice.http;

import java.util.List;

/** A request that does not tell who asks: a facet is missing, told twice, or malformed. */
public final class UnreadableRequest extends IllegalArgumentException {
  private final transient List<String> errors;

  UnreadableRequest(List<String> errors) {
    super(String.join("; ", errors));
    this.errors = List.copyOf(errors);
  }

  /** Everything that is wrong, one line each. */
  public List<String> errors() {
    return errors;
  }
}
