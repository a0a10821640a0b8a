package dev.sluice.server.http;

import java.util.List;

/** A request that cannot be understood, with everything that is wrong with it. */
public final class BadInput extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final transient List<String> errors;
  private final boolean unknownRule;

  public BadInput(List<String> errors, boolean unknownRule) {
    super(String.join("; ", errors), null, false, false);
    this.errors = List.copyOf(errors);
    this.unknownRule = unknownRule;
  }

  public BadInput(String error) {
    this(List.of(error), false);
  }

  public List<String> errors() {
    return errors;
  }

  /** Whether nothing is wrong but that there is no such rule. */
  boolean isUnknownRule() {
    return unknownRule;
  }
}
