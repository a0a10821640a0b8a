package dev.sluice;

import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;

/**
 * What an allowed call took. With it, the call can be refunded or settled once.
 *
 * @param id the name of the call among all that the store remembers
 * @param takenAtMicros the time of the take, by the clock of the store
 * @param openUntilMicros when a reservation ends that is not settled; 0 if it is no reservation
 * @param entries what was taken from each account
 * @param node the node that counted the local entries alone; empty if there are none
 * @param exempt the rules of the call that took nothing: the caller is exempt, or lacks a facet
 *     without which they are skipped
 */
public record Receipt(
    String id,
    long takenAtMicros,
    long openUntilMicros,
    List<Entry> entries,
    String node,
    List<String> exempt) {
  /** Copies the lists. */
  public Receipt {
    Objects.requireNonNull(id, "id");
    Objects.requireNonNull(node, "node");
    entries = List.copyOf(entries);
    exempt = List.copyOf(exempt);
  }

  /** A receipt of a call that all its rules counted. */
  public Receipt(
      String id, long takenAtMicros, long openUntilMicros, List<Entry> entries, String node) {
    this(id, takenAtMicros, openUntilMicros, entries, node, List.of());
  }

  /** A receipt of a call that is no reservation and was counted by the store. */
  public Receipt(String id, long takenAtMicros, List<Entry> entries) {
    this(id, takenAtMicros, 0, entries, "");
  }

  /** The same receipt with only some of its entries. */
  public Receipt with(List<Entry> some) {
    return new Receipt(id, takenAtMicros, openUntilMicros, some, node, exempt);
  }

  /** The same receipt, which also names the rules that took nothing. */
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
   * @param account the account
   * @param terms the limits and the lock under which the cost was taken
   * @param cost how much was taken
   * @param marks one for each limit; the limit uses it to find what was taken
   * @param given a counter of the account, as of this take: how much it has refunded to calls that
   *     other takes followed. What was refunded since must not be refunded to this call again
   * @param locked whether this call locked the account
   * @param local whether a node counted it alone, so that only that node can refund it
   */
  public record Entry(
      Account account,
      Terms terms,
      long cost,
      List<Mark> marks,
      long given,
      boolean locked,
      boolean local) {
    /** Copies the marks. */
    public Entry {
      Objects.requireNonNull(account, "account");
      Objects.requireNonNull(terms, "terms");
      marks = List.copyOf(marks);
    }

    /** What a call took that did not lock the account. */
    public Entry(Account account, Terms terms, long cost, List<Mark> marks) {
      this(account, terms, cost, marks, 0, false, false);
    }

    /** The same entry for a call that locked the account. */
    public Entry locking() {
      return new Entry(account, terms, cost, marks, given, true, local);
    }

    /** The same entry, counted by a node alone. */
    public Entry locally() {
      return new Entry(account, terms, cost, marks, given, locked, true);
    }
  }

  /**
   * Where a limit finds what was taken.
   *
   * @param micros the time of the take, by the clock of the account
   * @param number for a token bucket the units that it lacked after the take, for a sliding log the
   *     number of the entry, otherwise 0
   */
  public record Mark(long micros, long number) {}
}
