package dev.sluice;

/** What a call wants of its accounts. */
public enum Intent {
  /** Take the cost if every account has room for it; otherwise nothing. */
  TAKE,
  /** Look whether the cost would fit. Never writes. */
  PEEK,
  /** Count the cost even where it does not fit. */
  RECORD,
  /**
   * Take the cost if there is room, for a call whose fate is still open: settling it confirms what
   * was taken or gives it back. A refusal that is only due to others whose fate is open locks
   * nobody.
   */
  RESERVE;

  /** Whether the cost is taken only where it fits. */
  public boolean takes() {
    return this == TAKE || this == RESERVE;
  }
}
