package dev.sluice.memory;

import dev.sluice.store.StoreFullException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Remembers entries by name until their time is over, up to a bound. Thread-safe. */
final class Register<K, V extends Register.Entry<V>> {
  /*
   * A cache would evict entries under pressure, and a client that causes the pressure could then
   * use a receipt twice. A full register refuses new names instead, until other entries expire.
   *
   * The entries are in a map. Beside it, the times at which they change are sorted. Each update
   * first handles the few that are due. So no extra thread is needed, and the work of an update
   * does not grow with the register. Expired entries stay for another minute while there is room,
   * for a clock that steps back.
   */
  private static final int STEPS = 4;

  private static final long SLACK_MICROS = 60_000_000;

  private final String what;
  private final long most;
  private final ConcurrentHashMap<K, Line<V>> lines = new ConcurrentHashMap<>();
  private final ConcurrentSkipListMap<Due, K> dues = new ConcurrentSkipListMap<>();
  private final AtomicLong size = new AtomicLong();
  private final AtomicLong numbers = new AtomicLong();

  /** An entry that is remembered until a time. */
  interface Entry<V> {
    /** The time from which on the entry is expired, or shrinks. */
    long until();

    /** What is remembered from that time on, or null. */
    @Nullable V after();
  }

  private record Line<V>(V entry, Due due) {}

  private record Due(long at, long number) implements Comparable<Due> {
    @Override
    public int compareTo(Due other) {
      return at != other.at ? Long.compare(at, other.at) : Long.compare(number, other.number);
    }
  }

  /**
   * An empty register.
   *
   * @param what the name of the entries in the error of a full register
   * @param most how many entries it holds at most
   */
  Register(String what, long most) {
    this.what = what;
    this.most = most;
  }

  long size() {
    return size.get();
  }

  /**
   * Replaces the entry of a name. Updates of one name run one at a time.
   *
   * @param next receives the current entry or null, and returns the entry to remember
   * @throws StoreFullException if the name is new and the register is full; then {@code next} was
   *     not called
   */
  @SuppressWarnings("ReferenceEquality") // the same entry stays where it is
  V update(K name, long now, Function<@Nullable V, V> next) {
    forgetDue(now);
    Line<V> line =
        lines.compute(
            name,
            (same, found) -> {
              if (found == null) {
                reserve();
              }
              V wanted;
              try {
                wanted = next.apply(found == null ? null : at(now, found.entry));
              } catch (RuntimeException | Error e) {
                size.addAndGet(found == null ? -1 : 0);
                throw e;
              }
              if (found != null && found.entry == wanted) {
                return found;
              }
              if (found != null) {
                dues.remove(found.due);
              }
              return line(name, wanted);
            });
    return line.entry;
  }

  /** Forgets a name if its entry matches. */
  void remove(K name, Predicate<V> isSo) {
    lines.computeIfPresent(
        name,
        (same, line) -> {
          if (!isSo.test(line.entry)) {
            return line;
          }
          dues.remove(line.due);
          size.decrementAndGet();
          return null;
        });
  }

  private void reserve() {
    if (size.incrementAndGet() > most) {
      size.decrementAndGet();
      throw new StoreFullException(
          "%s: %,d are remembered, and each is still needed (expected: fewer than %,d at a time)"
              .formatted(what, most, most));
    }
  }

  private Line<V> line(K name, V entry) {
    Due due = new Due(entry.until(), numbers.getAndIncrement());
    dues.put(due, name);
    return new Line<>(entry, due);
  }

  private static <V extends Entry<V>> @Nullable V at(long now, V entry) {
    V left = entry;
    while (left != null && left.until() <= now) {
      left = left.after();
    }
    return left;
  }

  /** Handles a few entries that are due; if the register is full, continues until there is room. */
  @SuppressWarnings("ReferenceEquality") // a line that was replaced has another due
  private void forgetDue(long now) {
    for (int i = 0; i < STEPS || size.get() >= most; i++) {
      Map.Entry<Due, K> first = dues.firstEntry();
      long past = size.get() >= most ? now : now - SLACK_MICROS;
      if (first == null || first.getKey().at > past) {
        return;
      }
      if (dues.remove(first.getKey()) != null) {
        lines.computeIfPresent(
            first.getValue(),
            (name, line) -> {
              if (line.due != first.getKey()) {
                return line;
              }
              V left = at(past, line.entry);
              if (left == null) {
                size.decrementAndGet();
                return null;
              }
              return line(name, left);
            });
      }
    }
  }
}
