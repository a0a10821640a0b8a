package dev.sluice;

import dev.sluice.internal.Text;

/** The id of a call was reused with other rules, costs or another intent. Nothing was counted. */
public final class IdReusedException extends IllegalArgumentException {
  /** An id that was used for another call. */
  public IdReusedException(String id) {
    super(
        "id: %s was used for another call (expected: the same rules, costs and intent)"
            .formatted(Text.quoted(id)));
  }
}
