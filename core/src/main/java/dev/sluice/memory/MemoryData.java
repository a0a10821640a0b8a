package dev.sluice.memory;

import dev.sluice.store.SharedData;
import dev.sluice.store.StoreFullException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The shared data of a single JVM. Every stage is already complete. Thread-safe. */
final class MemoryData implements SharedData {
  private static final int MOST_VALUES = 10_000;

  private final InstantSource clock;
  private final Map<String, Value> values = new HashMap<>();
  private final Map<String, Versioned> maps = new HashMap<>();
  private final Map<String, Map<String, Value>> groups = new HashMap<>();
  private final Map<String, Log> logs = new HashMap<>();
  private long changes;

  /** A text with an end. */
  private record Value(String text, Instant until) {}

  /** A map and the number of its last change. */
  private static final class Versioned {
    private final Map<String, String> values = new HashMap<>();
    private long version;
  }

  private static final class Log {
    private final Deque<Entry> entries = new ArrayDeque<>();
    private Instant until = Instant.MAX;
    private long millis;
    private long sequence;

    void add(String text, Instant now) {
      millis = Math.max(millis, now.toEpochMilli());
      String id = millis + "-" + sequence++;
      entries.addFirst(new Entry(id, Instant.ofEpochMilli(millis), text));
    }
  }

  MemoryData(InstantSource clock) {
    this.clock = clock;
  }

  private synchronized <T> CompletionStage<T> done(Supplier<T> action) {
    try {
      return CompletableFuture.completedFuture(action.get());
    } catch (RuntimeException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  private Optional<String> find(String name) {
    Value found = values.get(name);
    return found == null || !clock.instant().isBefore(found.until)
        ? Optional.empty()
        : Optional.of(found.text);
  }

  private void write(String name, String value, Duration ttl) {
    SharedData.check(name, value);
    if (values.size() >= MOST_VALUES && !values.containsKey(name)) {
      forgetEnded(values);
      if (values.size() >= MOST_VALUES) {
        throw new StoreFullException("more than %,d values".formatted(MOST_VALUES));
      }
    }
    values.put(name, new Value(value, clock.instant().plus(ttl)));
  }

  private void forgetEnded(Map<String, Value> some) {
    Instant now = clock.instant();
    some.values().removeIf(value -> !now.isBefore(value.until));
  }

  @Override
  public CompletionStage<Optional<String>> get(String name) {
    return done(() -> find(name));
  }

  @Override
  public CompletionStage<Void> put(String name, String value, Duration ttl) {
    return done(() -> {
          write(name, value, ttl);
          return name;
        })
        .thenAccept(written -> {});
  }

  @Override
  public CompletionStage<Boolean> remove(String name) {
    return done(
        () -> {
          boolean found = find(name).isPresent();
          values.remove(name);
          return found;
        });
  }

  @Override
  public CompletionStage<Boolean> lease(String name, String owner, Duration ttl) {
    return done(
        () -> {
          boolean free = find(name).filter(other -> !other.equals(owner)).isEmpty();
          if (free) {
            write(name, owner, ttl);
          }
          return free;
        });
  }

  @Override
  public CompletionStage<Boolean> putEntry(String map, String key, String value, int most) {
    return done(
        () -> {
          SharedData.check(map, value);
          Versioned entries = maps.computeIfAbsent(map, unknown -> new Versioned());
          if (entries.values.size() >= most && !entries.values.containsKey(key)) {
            return false;
          }
          entries.values.put(key, value);
          entries.version = ++changes;
          return true;
        });
  }

  @Override
  public CompletionStage<Boolean> removeEntry(String map, String key) {
    return done(
        () -> {
          Versioned entries = maps.get(map);
          if (entries == null || entries.values.remove(key) == null) {
            return false;
          }
          entries.version = ++changes;
          return true;
        });
  }

  @Override
  public CompletionStage<Entries> entries(String map) {
    return done(
        () -> {
          Versioned entries = maps.get(map);
          return entries == null
              ? new Entries(0, Map.of())
              : new Entries(entries.version, entries.values);
        });
  }

  @Override
  public CompletionStage<Long> version(String map) {
    return done(
        () -> {
          Versioned entries = maps.get(map);
          return entries == null ? 0 : entries.version;
        });
  }

  @Override
  public CompletionStage<Boolean> putBack(String map, Entries entries) {
    return done(
        () -> {
          SharedData.check(map, entries);
          Versioned now = maps.computeIfAbsent(map, unknown -> new Versioned());
          if (now.version >= entries.version()) {
            return false;
          }
          now.values.clear();
          now.values.putAll(entries.values());
          now.version = entries.version();
          changes = Math.max(changes, now.version);
          return true;
        });
  }

  @Override
  public CompletionStage<Boolean> announce(
      String group, String member, String value, Duration ttl) {
    return done(
        () -> {
          SharedData.check(group, value);
          Map<String, Value> members = groups.computeIfAbsent(group, unknown -> new HashMap<>());
          forgetEnded(members);
          if (members.size() >= MOST_MEMBERS && !members.containsKey(member)) {
            return false;
          }
          members.put(member, new Value(value, clock.instant().plus(ttl)));
          return true;
        });
  }

  @Override
  public CompletionStage<Map<String, String>> members(String group) {
    return done(
        () -> {
          Map<String, Value> members = groups.getOrDefault(group, new HashMap<>());
          forgetEnded(members);
          Map<String, String> texts = new LinkedHashMap<>();
          members.forEach((name, value) -> texts.put(name, value.text));
          return texts;
        });
  }

  @Override
  public CompletionStage<Void> append(String log, List<String> texts, int most, Duration ttl) {
    return done(() -> {
          texts.forEach(text -> SharedData.check(log, text));
          Log found = logOf(log);
          Instant now = clock.instant();
          for (String text : texts) {
            found.add(text, now);
            while (found.entries.size() > most) {
              found.entries.removeLast();
            }
          }
          found.until = now.plus(ttl);
          logs.put(log, found);
          return log;
        })
        .thenAccept(written -> {});
  }

  private Log logOf(String name) {
    Log found = logs.get(name);
    return found == null || !clock.instant().isBefore(found.until) ? new Log() : found;
  }

  @Override
  public CompletionStage<List<Entry>> newest(String log, int limit, @Nullable String before) {
    return done(
        () -> {
          List<Entry> found = new ArrayList<>();
          for (Entry entry : logOf(log).entries) {
            if (found.size() < limit && (before == null || isBefore(entry.id(), before))) {
              found.add(entry);
            }
          }
          return found;
        });
  }

  private static boolean isBefore(String id, String other) {
    int byMillis = Long.compare(part(id, 0), part(other, 0));
    return byMillis < 0 || (byMillis == 0 && part(id, 1) < part(other, 1));
  }

  private static long part(String id, int index) {
    return Long.parseLong(id.split("-", 2)[index]);
  }
}
