package dev.sluice.memory;

import dev.sluice.Terms;

/** Terms as a row needs them: how each limit counts, and where its numbers are. */
final class Form {
  /** The form of a row that has counted nothing yet. */
  static final Form NONE = new Form();

  final Kind[] kinds;
  final int width;
  private final Terms terms;

  @SuppressWarnings("NullAway") // a row that has counted nothing has no terms
  private Form() {
    this.terms = null;
    this.kinds = new Kind[0];
    this.width = 0;
  }

  Form(Terms terms) {
    this.terms = terms;
    this.kinds = new Kind[terms.limits().size()];
    int at = 0;
    for (int i = 0; i < kinds.length; i++) {
      kinds[i] = Kind.of(terms.limits().get(i), at);
      at += kinds[i].width();
    }
    this.width = at;
  }

  /** Whether this is the form of the given terms. */
  @SuppressWarnings("ReferenceEquality") // equal terms are nearly always the same object
  boolean isOf(Terms others) {
    return terms == others;
  }

  Terms terms() {
    return terms;
  }

  /** Whether the numbers of a row of another form have the same meaning in this one. */
  boolean reads(Form other) {
    if (other.kinds.length != kinds.length) {
      return false;
    }
    for (int i = 0; i < kinds.length; i++) {
      if (!kinds[i].isSame(other.kinds[i])) {
        return false;
      }
    }
    return true;
  }

  /**
   * For each kind of this form, the index of the kind in another form whose usage it takes over:
   * the same limit, else one of the same kind; -1 if there is none.
   */
  int[] match(Form other) {
    int[] found = new int[kinds.length];
    boolean[] taken = new boolean[other.kinds.length];
    for (int i = 0; i < found.length; i++) {
      found[i] = -1;
      for (int j = 0; j < taken.length && found[i] < 0; j++) {
        if (!taken[j] && kinds[i].isSame(other.kinds[j])) {
          found[i] = j;
          taken[j] = true;
        }
      }
    }
    for (int i = 0; i < found.length; i++) {
      for (int j = 0; j < taken.length && found[i] < 0; j++) {
        if (!taken[j] && kinds[i].getClass() == other.kinds[j].getClass()) {
          found[i] = j;
          taken[j] = true;
        }
      }
    }
    return found;
  }
}
