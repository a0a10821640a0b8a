package dev.sluice.http;

import java.util.List;

/** The facets of a request cannot be read: one is missing, ambiguous or malformed. */
public final class UnreadableRequest extends IllegalArgumentException {
  private final transient List<String> errors;

  UnreadableRequest(List<String> errors) {
    super(String.join("; ", errors));
    this.errors = List.copyOf(errors);
  }

  /** All problems, one line each. */
  public List<String> errors() {
    return errors;
  }
}
