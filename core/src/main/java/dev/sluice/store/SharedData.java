package dev.sluice.store;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Small data that the nodes of a store share beside the accounts: overrides, the audit trail,
 * summaries of nodes, sessions of operators. Thread-safe.
 *
 * <p>On Redis it uses the connection of operators, so decisions never wait for it. A stage fails
 * with a {@link StoreException} if the store does not answer within five seconds.
 *
 * <p>Names consist of lower-case letters, digits, {@code -} and {@code :}. Everything is bounded: a
 * value by {@link #LONGEST_VALUE}, maps, groups and logs by their number of entries.
 */
public interface SharedData {
  /** The most characters of a value. */
  int LONGEST_VALUE = 262_144;

  /** The most characters of a map that is put back, which takes one request. */
  int LARGEST_MAP = 16_777_216;

  /** The most members of a group. */
  int MOST_MEMBERS = 256;

  // ---- Values ---------------------------------------------------------------------------------

  /** A value; empty if there is none or its time is over. */
  CompletionStage<Optional<String>> get(String name);

  /** Writes a value that is forgotten after a time. */
  CompletionStage<Void> put(String name, String value, Duration ttl);

  /** Removes a value. Returns whether there was one. */
  CompletionStage<Boolean> remove(String name);

  /**
   * Takes or extends a lease, which one owner at a time has.
   *
   * @return whether the owner has it now; false if another owner does
   */
  CompletionStage<Boolean> lease(String name, String owner, Duration ttl);

  // ---- Maps -----------------------------------------------------------------------------------

  /**
   * Writes an entry of a map. Entries stay until they are removed.
   *
   * @param most the most entries of the map
   * @return false if the map is full; then nothing happens
   */
  CompletionStage<Boolean> putEntry(String map, String key, String value, int most);

  /** Removes an entry of a map. Returns whether there was one. */
  CompletionStage<Boolean> removeEntry(String map, String key);

  /** All entries of a map, with its version. */
  CompletionStage<Entries> entries(String map);

  /** The version of a map: a higher one after every change; 0 if the map does not exist. */
  CompletionStage<Long> version(String map);

  /**
   * Puts a map back as it was, unless the store has the same version or a newer one. For a store
   * that lost it; removing the last entry of a map leaves its version.
   *
   * @return whether it was put back
   * @throws IllegalArgumentException if it has more than {@link #LARGEST_MAP} characters
   */
  CompletionStage<Boolean> putBack(String map, Entries entries);

  /** The entries of a map at some version. */
  record Entries(long version, Map<String, String> values) {
    /** Copies the entries. */
    public Entries {
      values = Map.copyOf(values);
    }
  }

  // ---- Groups ---------------------------------------------------------------------------------

  /**
   * Announces a member of a group. It leaves the group by itself unless it is announced again.
   *
   * @return false if the group is full; then nothing happens
   */
  CompletionStage<Boolean> announce(String group, String member, String value, Duration ttl);

  /** The members of a group, by name, with their values. */
  CompletionStage<Map<String, String>> members(String group);

  // ---- Logs -----------------------------------------------------------------------------------

  /**
   * Appends entries to a log. The oldest entries are removed when there are too many.
   *
   * @param most the most entries of the log
   * @param ttl how long the log is kept after the last entry
   */
  CompletionStage<Void> append(String log, List<String> texts, int most, Duration ttl);

  /**
   * The newest entries of a log, newest first.
   *
   * @param limit the most entries to return
   * @param before only entries before the one with this id, or null
   */
  CompletionStage<List<Entry>> newest(String log, int limit, @Nullable String before);

  /**
   * An entry of a log.
   *
   * @param id its name in the log; ids increase
   * @param at when it was written, by the clock of the store
   */
  record Entry(String id, Instant at, String text) {
    /** Whether it was appended after the entry with an id. */
    public boolean isAfter(String otherId) {
      if (!isId(id) || !isId(otherId)) {
        return false;
      }
      String[] own = id.split("-", 2);
      String[] other = otherId.split("-", 2);
      int byTime = Long.compare(Long.parseLong(own[0]), Long.parseLong(other[0]));
      return byTime != 0 ? byTime > 0 : Long.parseLong(own[1]) > Long.parseLong(other[1]);
    }

    /** Whether a text has the form of an id. */
    public static boolean isId(String text) {
      return text.matches("\\d{1,16}-\\d{1,16}");
    }
  }

  /** Throws if a map is too large to be put back; for implementations. */
  static void check(String map, Entries entries) {
    long size = 0;
    for (Map.Entry<String, String> each : entries.values().entrySet()) {
      check(map, each.getValue());
      size += each.getKey().length() + each.getValue().length();
    }
    if (size > LARGEST_MAP) {
      throw new IllegalArgumentException(
          "%s: %,d characters (expected: at most %,d)".formatted(map, size, LARGEST_MAP));
    }
  }

  /** Throws if a name or value is outside its bounds; for implementations. */
  static void check(String name, String value) {
    if (!name.matches("[a-z0-9:-]{1,128}")) {
      throw new IllegalArgumentException(
          "name: '%s' (expected: 1 to 128 of a-z, 0-9, '-' and ':')".formatted(name));
    }
    if (value.length() > LONGEST_VALUE) {
      throw new IllegalArgumentException(
          "%s: %,d characters (expected: at most %,d)"
              .formatted(name, value.length(), LONGEST_VALUE));
    }
  }
}
