package dev.sluice.memory;

import dev.sluice.Terms;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The place of one account's books. Thread-safe. */
final class Cell extends Purse {
  /*
   * The commonest plan has one charge. If the cell holds a purse, the purse pays. Else the books are
   * read, the next ones computed, and swapped in if nobody else did meanwhile. No lock is held, so
   * nobody waits for a thread that was put to sleep.
   *
   * A plan of several charges, and any with a sliding log, claims each of its cells first, in the
   * order of their accounts so that two plans cannot wait for each other. A claimed cell holds
   * CLAIMED in place of its books; whoever finds that spins, and soon yields. A purse is claimed by
   * whoever closes it.
   */
  private static final Books CLAIMED = Books.EMPTY.locked(null);
  private static final Books DEAD = Books.EMPTY.locked(null);
  private static final VarHandle PAGE;

  static {
    try {
      PAGE = MethodHandles.lookup().findVarHandle(Cell.class, "page", Page.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private volatile Page page;

  /** How often it was found again lately, at most 3; not exact, since races do no harm. */
  private byte chances;

  /** A cell without books; its own first purse, if an account of these terms can have one. */
  Cell(@Nullable Terms terms) {
    super(terms);
    this.page = isClosed() ? Books.EMPTY : this;
  }

  /** Notes that somebody came back. */
  void touch() {
    if (chances < 3) {
      chances++;
    }
  }

  /** Whether nobody came back lately; uses up a chance. */
  boolean isOutOfChances() {
    if (chances > 0) {
      chances--;
      return false;
    }
    return true;
  }

  /** What is here, once nobody claims it; null if this cell is no longer in use. */
  @Nullable Page page() {
    for (int spins = 0; ; spins++) {
      Page found = page;
      if (found != CLAIMED && !(found instanceof Purse purse && purse.isClosed())) {
        return found == DEAD ? null : found;
      }
      relax(spins);
    }
  }

  /** Whether a glance shows that not all has come back by a moment; if not, ask the books. */
  boolean isBusyAt(long moment) {
    return page instanceof Purse purse && purse.isLackingAt(moment);
  }

  /** The books, once nobody claims them; null if this cell is no longer in use. */
  @Nullable Books read() {
    while (true) {
      Page found = page();
      Books books = found == null ? null : found.books();
      if (found == null || books != null) {
        return books;
      }
    }
  }

  /** The books, unless somebody claims them or this cell is no longer in use: never waits. */
  @Nullable Books glance() {
    Page found = page;
    return found == CLAIMED || found == DEAD ? null : found.books();
  }

  boolean isDead() {
    return page == DEAD;
  }

  /** Puts other books in the place of those that were read, unless somebody else did. */
  boolean replace(Books read, Books next) {
    return PAGE.compareAndSet(this, read, Purse.of(next));
  }

  /** Takes the books out until {@link #release}; null if this cell is no longer in use. */
  @Nullable Books claim() {
    while (true) {
      Page found = page();
      if (found == null) {
        return null;
      }
      if (found instanceof Purse purse) {
        Books books = purse.close();
        if (books != null) {
          page = CLAIMED;
          return books;
        }
      } else if (PAGE.compareAndSet(this, found, CLAIMED)) {
        return found.books();
      }
    }
  }

  void release(Books next) {
    page = Purse.of(next);
  }

  /** Ends a claimed cell: whoever still holds it must look for the account again. */
  void retire() {
    page = DEAD;
  }

  /** Ends this cell, if nobody has claimed it and its books are of this kind. */
  boolean retireIf(Predicate<Books> kind) {
    Page found = page;
    if (found == CLAIMED || found == DEAD) {
      return found == DEAD;
    }
    Books books = found.books();
    if (books == null || !kind.test(books)) {
      return false;
    }
    if (!(found instanceof Purse purse)) {
      return PAGE.compareAndSet(this, found, DEAD);
    }
    Books closed = purse.close();
    if (closed == null) {
      return false;
    }
    boolean retires = kind.test(closed);
    page = retires ? DEAD : Purse.of(closed);
    return retires;
  }

  private static void relax(int spins) {
    if (spins < 64) {
      Thread.onSpinWait();
    } else {
      Thread.yield();
    }
  }
}
