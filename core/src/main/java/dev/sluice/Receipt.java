package dev.sluice;

import java.util.List;

/**
 * What an allowed call took, so that it can be given back: that much, once, and no more.
 *
 * @param id the call's id, or one made for it
 * @param takenAtMicros the store's clock when it was taken
 */
public record Receipt(String id, long takenAtMicros, List<Entry> entries) {
  public Receipt {
    entries = List.copyOf(entries);
  }

  /**
   * What was taken from one account.
   *
   * @param marks one for each limit: where a token bucket would be full again, other limits none
   */
  public record Entry(Account account, Terms terms, long cost, List<Mark> marks) {
    public Entry {
      marks = List.copyOf(marks);
    }
  }

  /**
   * The moment a bucket was to be full after the take: {@code micros + units / unitsPerMicro}; for
   * other limits the effective time of the take, with no units.
   */
  public record Mark(long micros, long units) {}
}
