package dev.sluice;

/** What a call does with its cost. */
public enum Intent {
  /** Take the cost if every account has room for it; otherwise nothing. */
  TAKE,
  /** Check whether the cost would fit. Never writes. */
  PEEK,
  /** Count the cost even where it does not fit. */
  RECORD,
  /**
   * Take the cost if there is room, as a reservation: a settlement later confirms or refunds it. A
   * denial that is only due to other open reservations locks nobody.
   */
  RESERVE;

  /** Whether the cost is taken only where it fits. */
  public boolean takes() {
    return this == TAKE || this == RESERVE;
  }
}
