package dev.sluice.memory;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/** The place of one account's books. Thread-safe. */
final class Cell {
  /*
   * The commonest plan has one charge: it reads the books, computes the next ones, and swaps them in
   * if nobody else did meanwhile. No lock is held, so nobody waits for a thread that was put to
   * sleep.
   *
   * A plan of several charges, and any with a sliding log, claims each of its cells first, in the
   * order of their accounts so that two plans cannot wait for each other. A claimed cell holds
   * CLAIMED in place of its books; whoever finds that spins, and soon yields.
   */
  private static final Books CLAIMED = Books.EMPTY.locked(null);
  private static final Books DEAD = Books.EMPTY.locked(null);
  private static final VarHandle BOOKS;

  static {
    try {
      BOOKS = MethodHandles.lookup().findVarHandle(Cell.class, "books", Books.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  @SuppressWarnings("FieldMayBeFinal")
  private volatile Books books = Books.EMPTY;

  /** The books, once nobody claims them; null if this cell is no longer in use. */
  @Nullable Books read() {
    for (int spins = 0; ; spins++) {
      Books found = books;
      if (found != CLAIMED) {
        return found == DEAD ? null : found;
      }
      relax(spins);
    }
  }

  /** The books, unless somebody claims them or this cell is no longer in use: never waits. */
  @Nullable Books glance() {
    Books found = books;
    return found == CLAIMED || found == DEAD ? null : found;
  }

  /** Puts other books in the place of those that were read, unless somebody else did. */
  boolean replace(Books read, Books next) {
    return BOOKS.compareAndSet(this, read, next);
  }

  /** Takes the books out until {@link #release}; null if this cell is no longer in use. */
  @Nullable Books claim() {
    while (true) {
      Books found = read();
      if (found == null || replace(found, CLAIMED)) {
        return found;
      }
    }
  }

  void release(Books next) {
    books = next;
  }

  /** Ends a claimed cell: whoever still holds it must look for the account again. */
  void retire() {
    books = DEAD;
  }

  /** Ends this cell if its books are still those that were read. */
  boolean retire(Books read) {
    return replace(read, DEAD);
  }

  private static void relax(int spins) {
    if (spins < 64) {
      Thread.onSpinWait();
    } else {
      Thread.yield();
    }
  }
}
