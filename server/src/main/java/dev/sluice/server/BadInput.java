package dev.sluice.server;

import java.util.List;

/** A request that cannot be understood, with everything that is wrong with it. */
final class BadInput extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final transient List<String> errors;
  private final boolean unknownRule;

  BadInput(List<String> errors, boolean unknownRule) {
    super(String.join("; ", errors), null, false, false);
    this.errors = List.copyOf(errors);
    this.unknownRule = unknownRule;
  }

  BadInput(String error) {
    this(List.of(error), false);
  }

  List<String> errors() {
    return errors;
  }

  /** Whether nothing is wrong but that there is no such rule. */
  boolean isUnknownRule() {
    return unknownRule;
  }
}
