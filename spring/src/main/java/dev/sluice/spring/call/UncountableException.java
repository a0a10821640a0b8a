package dev.sluice.spring.call;

/** A call that cannot be counted, because a facet is missing or malformed. Answered with 400. */
public final class UncountableException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  public UncountableException(IllegalArgumentException cause) {
    super(cause.getMessage(), cause);
  }
}
