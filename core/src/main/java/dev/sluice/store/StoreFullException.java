package dev.sluice.store;

/** A store has no room to remember more, and must not forget what it has. Nothing was counted. */
public final class StoreFullException extends IllegalStateException {
  private static final long serialVersionUID = 1L;

  public StoreFullException(String message) {
    super(message);
  }
}
