package dev.sluice.store;

/**
 * A store has no room to remember another call id or settlement, and must not forget any. Nothing
 * was counted.
 */
public final class StoreFullException extends IllegalStateException {
  private static final long serialVersionUID = 1L;

  /** A store that is full. */
  public StoreFullException(String message) {
    super(message);
  }
}
