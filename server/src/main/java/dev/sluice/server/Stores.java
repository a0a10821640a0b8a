package dev.sluice.server;

import dev.sluice.Store;
import dev.sluice.Text;
import dev.sluice.memory.MemoryStore;

/** The one place where the name of a store becomes a store. */
final class Stores {
  private Stores() {}

  /** Opens {@code memory} or {@code redis://…}. */
  static Store open(String name) {
    if (name.equals("memory")) {
      return MemoryStore.create();
    }
    if (isRedis(name)) {
      throw new IllegalArgumentException(
          "store: %s is not available in this build (expected: memory)".formatted(shown(name)));
    }
    throw new IllegalArgumentException(
        "store: %s (expected: memory or redis://host:port)".formatted(Text.quoted(name)));
  }

  /** The name without what is secret in it. */
  static String shown(String name) {
    return name.replaceFirst("(?<=//)[^/]*@", "");
  }

  private static boolean isRedis(String name) {
    return name.matches("redis(s|-sentinel|-cluster)?:.*");
  }
}
