package dev.sluice.memory;

import org.jspecify.annotations.Nullable;

/** What a cell holds: the books of an account, or a purse for the commonest kind of books. */
sealed interface Page permits Books, Purse {
  /** The books at this moment; null if a purse was just taken away. */
  @Nullable Books books();
}
