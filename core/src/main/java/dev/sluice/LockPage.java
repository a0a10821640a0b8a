package dev.sluice;

import dev.sluice.internal.InvalidValueException;
import dev.sluice.internal.Text;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One page of the locks in force, sorted by their end, earliest first.
 *
 * @param locks the locks of this page
 * @param total how many locks are in force on all pages together
 * @param next the argument that asks for the next page; null on the last page
 */
public record LockPage(List<Restriction> locks, long total, @Nullable String next) {
  /** The most locks that one page can hold. */
  public static final int LARGEST = 1_000;

  /** Copies the locks. */
  public LockPage {
    locks = List.copyOf(locks);
  }

  /**
   * The first page of some locks, sorted.
   *
   * @param behind the locks after the previous page; if there are more than {@code limit}, at least
   *     one more than that
   * @param total how many locks are in force on all pages together
   * @param limit the size of a page
   */
  public static LockPage of(Collection<Restriction> behind, long total, int limit) {
    List<Restriction> sorted =
        behind.stream()
            .map(lock -> Map.entry(Place.of(lock), lock))
            .sorted(Map.Entry.comparingByKey())
            .limit(limit)
            .map(Map.Entry::getValue)
            .toList();
    boolean more = behind.size() > limit;
    return new LockPage(sorted, total, more ? Place.of(sorted.get(limit - 1)).toString() : null);
  }

  /** Throws if a page size is out of range. */
  public static void checkLimit(int limit) {
    if (limit < 1 || limit > LARGEST) {
      throw InvalidValueException.of("limit", Integer.toString(limit), "1 to " + LARGEST);
    }
  }

  /**
   * The position of a lock in the list: sorted by its end, then by its account.
   *
   * @param untilMicros the end of the lock, in microseconds since the epoch
   * @param account the text of the account
   */
  public record Place(long untilMicros, String account) implements Comparable<Place> {
    /** The position before the first lock. */
    public static final Place START = new Place(0, "");

    /** The position of a lock. */
    public static Place of(Restriction lock) {
      return new Place(
          ChronoUnit.MICROS.between(Instant.EPOCH, lock.until()), lock.account().toString());
    }

    /** The position before the first lock that ends at a time. */
    static Place before(long untilMicros) {
      return new Place(untilMicros, "");
    }

    /** The position that {@link LockPage#next} encodes; the start if it is null. */
    public static Place after(@Nullable String next) {
      if (next == null) {
        return START;
      }
      try {
        String text = new String(Base64.getUrlDecoder().decode(next), StandardCharsets.UTF_8);
        int space = text.indexOf(' ');
        return new Place(Long.parseLong(text.substring(0, space)), text.substring(space + 1));
      } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
        throw InvalidValueException.of("after", Text.quoted(next), "the `next` of a page of locks");
      }
    }

    @Override
    public int compareTo(Place other) {
      int byEnd = Long.compare(untilMicros, other.untilMicros);
      return byEnd != 0 ? byEnd : account.compareTo(other.account);
    }

    @Override
    public String toString() {
      byte[] text = (untilMicros + " " + account).getBytes(StandardCharsets.UTF_8);
      return Base64.getUrlEncoder().withoutPadding().encodeToString(text);
    }
  }
}
