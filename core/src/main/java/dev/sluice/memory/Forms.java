package dev.sluice.memory;

import dev.sluice.Terms;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The forms of all terms in use. Thread-safe. */
final class Forms {
  private static final int MOST = 10_000;

  private final Map<Terms, Form> known = new ConcurrentHashMap<>();
  private volatile Form last = Form.NONE;

  /** The form of some terms; usually that of the row. */
  Form of(Row row, Terms terms) {
    return row.form.isOf(terms) ? row.form : of(terms);
  }

  Form of(Terms terms) {
    Form form = last;
    if (!form.isOf(terms)) {
      form = known.getOrDefault(terms, Form.NONE);
      if (!form.isOf(terms)) {
        if (known.size() >= MOST) {
          known.clear();
        }
        form = new Form(terms);
        known.put(terms, form);
      }
      last = form;
    }
    return form;
  }

  /** The form of the terms of a receipt, which may come from another process. */
  Form taken(Row row, Terms terms) {
    return terms.equals(row.form.terms()) ? row.form : of(terms);
  }
}
