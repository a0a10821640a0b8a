package dev.sluice.redis;

import io.lettuce.core.RedisCommandExecutionException;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Redis did not answer an operation, or answered with an error. */
public final class StoreFault extends RuntimeException {
  private static final Pattern NAME = Pattern.compile("^([A-Z]+)\\b");

  private final String kind;
  private final boolean unclear;

  StoreFault(String kind, boolean unclear, String message, Throwable cause) {
    super(message, cause);
    this.kind = kind;
    this.unclear = unclear;
  }

  /** The fault in an error of the client: what Redis called it, or that nobody knows the end. */
  static StoreFault of(Throwable error) {
    Throwable cause = Link.cause(error);
    if (cause instanceof StoreFault fault) {
      return fault;
    }
    String message = String.valueOf(cause.getMessage());
    if (cause instanceof RedisCommandExecutionException) {
      Matcher name = NAME.matcher(message);
      String kind = name.find() ? name.group(1).toLowerCase(Locale.ROOT) : "error";
      return new StoreFault(kind, false, "Redis answered " + message, cause);
    }
    boolean refused =
        message.contains("Currently not connected") || message.contains("Request queue size");
    return new StoreFault(
        refused ? "disconnected" : "connection",
        !refused,
        "Redis gave no answer: " + message,
        cause);
  }

  /** A short word for metrics: {@code timeout}, {@code connection}, {@code readonly}, …. */
  public String kind() {
    return kind;
  }

  /** Whether the operation may have been carried out all the same. */
  public boolean unclear() {
    return unclear;
  }
}
