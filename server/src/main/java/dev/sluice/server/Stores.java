package dev.sluice.server;

import dev.sluice.internal.Text;
import dev.sluice.memory.MemoryStore;
import dev.sluice.redis.RedisStore;
import dev.sluice.server.api.ReceiptKeys;
import dev.sluice.store.Store;
import dev.sluice.store.StoreException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The one place where the name of a store becomes a store. */
public final class Stores {
  private Stores() {}

  /**
   * Opens {@code memory} or {@code redis://…}. It does not apply overrides: the service does that
   * itself on every store.
   *
   * @param deadline how long a decision may wait for Redis
   * @param nodes how many services share the limits while each counts by itself
   * @param functions whether decisions go by functions where Redis has them
   * @param required whether it is an error if Redis is away
   * @param reports whether the service shares a summary of its decisions
   * @param onFault receives every fault of Redis
   */
  public static Store open(
      String name,
      Duration deadline,
      int nodes,
      boolean functions,
      boolean required,
      boolean reports,
      Consumer<StoreException> onFault) {
    if (name.equals("memory")) {
      return MemoryStore.create();
    }
    if (isRedis(name)) {
      return RedisStore.builder(name)
          .deadline(deadline)
          .nodes(nodes)
          .functions(functions)
          .requireStore(required)
          .reports(reports)
          .program("service")
          .onFault(onFault)
          .build();
    }
    throw new IllegalArgumentException(
        "store: %s (expected: memory or redis://host:port)"
            .formatted(Text.quoted(Text.withoutPassword(name))));
  }

  /** The keys of receipts: from the file if there is one, else shared by those of one store. */
  public static ReceiptKeys receiptKeys(String name, @Nullable Path file) {
    if (file != null) {
      return ReceiptKeys.ofFile(file);
    }
    return isRedis(name) ? ReceiptKeys.ofRedis(name) : ReceiptKeys.ofProcess();
  }

  private static boolean isRedis(String name) {
    return name.matches("redis[a-z-]*:.*");
  }
}
