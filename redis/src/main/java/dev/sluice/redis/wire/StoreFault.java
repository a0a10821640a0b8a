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

  /** In Redis 6.2, an error in a script has its name behind the position in the script. */
  private static final Pattern NAME_IN_SCRIPT =
      Pattern.compile("^ERR Error running script .*@user_script: ?\\d+: -?([A-Z]{2,})\\b");

  private final boolean unresponsive;

  /** A fault of a Redis that may still answer other calls. */
  public StoreFault(String kind, boolean unclear, String message, Throwable cause) {
    this(kind, unclear, false, message, cause);
  }

  private StoreFault(
      String kind, boolean unclear, boolean unresponsive, String message, Throwable cause) {
    super(kind, unclear, message, cause);
    this.unresponsive = unresponsive;
  }

  /**
   * A call that timed out.
   *
   * @param unresponsive whether nothing at all was read from its Redis node meanwhile
   */
  public static StoreFault timeout(String message, boolean unresponsive) {
    return new StoreFault("timeout", true, unresponsive, message, new TimeoutException(message));
  }

  /**
   * The fault for an error of the client, with the error name of Redis as its kind if there is one.
   */
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

  /** The kind of an error message of Redis. */
  public static String kind(String message) {
    if (message.contains("access a non local key")) {
      return "tryagain"; // a slot that moves between nodes, noticed within a script
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

  /** Whether nothing at all was read from the Redis node while the call waited. */
  public boolean unresponsive() {
    return unresponsive;
  }
}
