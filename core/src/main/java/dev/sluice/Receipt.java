package dev.sluice;

import java.util.List;

/**
 * What an allowed call took, so that it can be given back: that much, once, and no more.
 *
 * @param id names the call among all that the store remembers
 * @param takenAtMicros the store's clock when it was taken
 * @param node the node that counted the local entries by itself; empty if there are none
 */
public record Receipt(String id, long takenAtMicros, List<Entry> entries, String node) {
  public Receipt {
    entries = List.copyOf(entries);
  }

  public Receipt(String id, long takenAtMicros, List<Entry> entries) {
    this(id, takenAtMicros, entries, "");
  }

  /**
   * What was taken from one account.
   *
   * @param marks one for each limit: where a token bucket would be full again, other limits none
   * @param local whether a node counted it by itself, so that only that node can give it back
   */
  public record Entry(Account account, Terms terms, long cost, List<Mark> marks, boolean local) {
    public Entry {
      marks = List.copyOf(marks);
    }

    public Entry(Account account, Terms terms, long cost, List<Mark> marks) {
      this(account, terms, cost, marks, false);
    }
  }

  /**
   * The moment a bucket was to be full after the take: {@code micros + units / unitsPerMicro}; for
   * other limits the effective time of the take, with no units.
   */
  public record Mark(long micros, long units) {}
}
