package dev.sluice;

import java.util.List;
import java.util.stream.Stream;

/**
 * What an allowed call took, so that it can be given back: that much, once, and no more.
 *
 * @param id names the call among all that the store remembers
 * @param takenAtMicros the store's clock when it was taken
 * @param openUntilMicros the end of the hold of a reservation; 0 if it was none
 * @param node the node that counted the local entries by itself; empty if there are none
 * @param exempt the rules of the call by which nothing was taken: the caller is exempt from them,
 *     or lacks a facet without which they are skipped
 */
public record Receipt(
    String id,
    long takenAtMicros,
    long openUntilMicros,
    List<Entry> entries,
    String node,
    List<String> exempt) {
  public Receipt {
    entries = List.copyOf(entries);
    exempt = List.copyOf(exempt);
  }

  public Receipt(
      String id, long takenAtMicros, long openUntilMicros, List<Entry> entries, String node) {
    this(id, takenAtMicros, openUntilMicros, entries, node, List.of());
  }

  public Receipt(String id, long takenAtMicros, List<Entry> entries) {
    this(id, takenAtMicros, 0, entries, "");
  }

  /** The same receipt for some of its entries. */
  public Receipt with(List<Entry> some) {
    return new Receipt(id, takenAtMicros, openUntilMicros, some, node, exempt);
  }

  /** The same receipt of a call that also named rules by which nothing was taken. */
  Receipt exemptFrom(List<String> rules) {
    return new Receipt(id, takenAtMicros, openUntilMicros, entries, node, rules);
  }

  /** The rules that the call named. */
  public List<String> rules() {
    return Stream.concat(entries.stream().map(entry -> entry.account().rule()), exempt.stream())
        .distinct()
        .toList();
  }

  /**
   * What was taken from one account.
   *
   * @param marks one for each limit, by which it finds what was taken
   * @param given how much the account had given back to calls before others took, when this was
   *     taken; what it gave back since must not be given to this call once more
   * @param locked whether this very call locked the account
   * @param local whether a node counted it by itself, so that only that node can give it back
   */
  public record Entry(
      Account account,
      Terms terms,
      long cost,
      List<Mark> marks,
      long given,
      boolean locked,
      boolean local) {
    public Entry {
      marks = List.copyOf(marks);
    }

    public Entry(Account account, Terms terms, long cost, List<Mark> marks) {
      this(account, terms, cost, marks, 0, false, false);
    }

    /** The same of a call that locked the account. */
    public Entry locking() {
      return new Entry(account, terms, cost, marks, given, true, local);
    }

    /** The same, counted by a node by itself. */
    public Entry locally() {
      return new Entry(account, terms, cost, marks, given, locked, true);
    }
  }

  /**
   * Where a limit finds what was taken.
   *
   * @param micros the account's time of the take
   * @param number of a bucket the units that it lacked after the take, of a log the number of the
   *     entry, of others 0
   */
  public record Mark(long micros, long number) {}
}
