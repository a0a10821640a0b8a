package dev.sluice;

/** What a call wants of its accounts. */
public enum Intent {
  /** Take the cost if every account has room for it; otherwise nothing. */
  TAKE,
  /** Look whether the cost would fit. Never writes. */
  PEEK,
  /** Count the cost even where it does not fit. */
  RECORD
}
