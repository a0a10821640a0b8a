package dev.sluice.redis.wire;

import dev.sluice.internal.Stages;
import dev.sluice.store.StoreException;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisCommandTimeoutException;
import java.util.Locale;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Redis did not answer an operation, or answered with an error. */
public final class StoreFault extends StoreException {
  private static final long serialVersionUID = 1L;
  private static final Pattern NAME = Pattern.compile("^([A-Z]+)\\b");

  /** Redis 6.2 puts what went wrong in a script behind the place where it did. */
  private static final Pattern NAME_IN_SCRIPT =
      Pattern.compile("^ERR Error running script .*@user_script: ?\\d+: -?([A-Z]{2,})\\b");

  private final boolean silent;

  public StoreFault(String kind, boolean unclear, String message, Throwable cause) {
    this(kind, unclear, false, message, cause);
  }

  private StoreFault(
      String kind, boolean unclear, boolean silent, String message, Throwable cause) {
    super(kind, unclear, message, cause);
    this.silent = silent;
  }

  /**
   * A call that was not answered within its time.
   *
   * @param silent whether nothing at all was read from its Redis node meanwhile
   */
  public static StoreFault timeout(String message, boolean silent) {
    return new StoreFault("timeout", true, silent, message, new TimeoutException(message));
  }

  /** The fault in an error of the client: what Redis called it, or that nobody knows the end. */
  public static StoreFault of(Throwable error) {
    Throwable cause = Stages.cause(error);
    if (cause instanceof StoreFault fault) {
      return fault;
    }
    String message = String.valueOf(cause.getMessage());
    if (cause instanceof RedisCommandExecutionException) {
      return new StoreFault(kind(message), false, "Redis answered " + message.strip(), cause);
    }
    if (cause instanceof TimeoutException || cause instanceof RedisCommandTimeoutException) {
      return new StoreFault("timeout", true, "Redis gave no answer in time", cause);
    }
    boolean refused =
        message.contains("Currently not connected") || message.contains("Request queue size");
    return new StoreFault(
        refused ? "disconnected" : "connection",
        !refused,
        "Redis gave no answer: " + message,
        cause);
  }

  /** What Redis called an error. */
  public static String kind(String message) {
    if (message.contains("access a non local key")) {
      return "tryagain"; // a slot on its way from node to node, met within a script
    }
    if (message.contains("The user executing the script can't")
        || message.contains("ACL failure in script")) {
      return "noperm"; // Redis 7.0 says the first, newer ones and Valkey the second
    }
    for (Pattern pattern : new Pattern[] {NAME_IN_SCRIPT, NAME}) {
      Matcher name = pattern.matcher(message);
      if (name.find()) {
        return name.group(1).toLowerCase(Locale.ROOT);
      }
    }
    return "error";
  }

  /** Whether its Redis node answered nobody at all while this call waited. */
  public boolean silent() {
    return silent;
  }
}
