package dev.sluice.server.http;

import dev.sluice.Decision;
import dev.sluice.store.Store;

/** An operator asked about accounts while the store did not answer. */
public final class StoreAway extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private StoreAway(String message) {
    super(message, null, false, false);
  }

  /** Gives a decision back that rests on the store; throws for any other. */
  public static Decision check(Decision decision, Store store) {
    boolean away =
        decision.countedBy() == Decision.CountedBy.LOCAL
            || decision.countedBy() == Decision.CountedBy.NOBODY;
    if (away) {
      String why =
          decision instanceof Decision.Unmetered unmetered
              ? unmetered.reason()
              : store.trouble().orElse("it did not answer");
      throw new StoreAway("store: " + why);
    }
    return decision;
  }
}
