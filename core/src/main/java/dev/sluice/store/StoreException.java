package dev.sluice.store;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A store could not carry out an operation because its backend did not answer or returned an error.
 *
 * <p>Decisions do not throw it: the rule's {@code onStoreFailure} decides them. Settlements,
 * resets, locks and lists do.
 */
public class StoreException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final String kind;
  private final boolean unclear;

  /**
   * A failure.
   *
   * @param kind a short name for metrics, such as {@code timeout}
   * @param unclear whether the operation may have been carried out
   */
  public StoreException(String kind, boolean unclear, String message, @Nullable Throwable cause) {
    super(message, cause);
    this.kind = Objects.requireNonNull(kind, "kind");
    this.unclear = unclear;
  }

  /** A short name for metrics: {@code timeout}, {@code connection}, {@code readonly}, …. */
  public final String kind() {
    return kind;
  }

  /** Whether the operation may have been carried out. */
  public final boolean unclear() {
    return unclear;
  }
}
