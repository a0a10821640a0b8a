package dev.sluice.spring;

/** A call that cannot be counted: who asks is missing or malformed. Answered with 400. */
final class UncountableException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  UncountableException(IllegalArgumentException cause) {
    super(cause.getMessage(), cause);
  }
}
