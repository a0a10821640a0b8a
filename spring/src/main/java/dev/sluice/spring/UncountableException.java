package dev.sluice.spring;

/** A call that does not tell who asks; as the answer to a request it is 400. */
final class UncountableException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  UncountableException(IllegalArgumentException cause) {
    super(cause.getMessage(), cause);
  }
}
