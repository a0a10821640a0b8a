package dev.sluice;

import dev.sluice.internal.InvalidValueException;
import dev.sluice.internal.Text;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
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

  /** The order of {@link Place}, without making one for each lock. */
  private static final Comparator<Restriction> BY_PLACE =
      Comparator.comparingLong(LockPage::untilMicros)
          .thenComparing(lock -> lock.account().toString());

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
    // Only the locks of the page are sorted: an operator who reads all pages asks for each of them.
    PriorityQueue<Restriction> earliest = new PriorityQueue<>(BY_PLACE.reversed());
    for (Restriction lock : behind) {
      if (earliest.size() < limit) {
        earliest.add(lock);
      } else if (BY_PLACE.compare(lock, earliest.element()) < 0) {
        earliest.remove();
        earliest.add(lock);
      }
    }
    List<Restriction> sorted = new ArrayList<>(earliest);
    sorted.sort(BY_PLACE);
    boolean more = behind.size() > limit;
    return new LockPage(sorted, total, more ? Place.of(sorted.get(limit - 1)).toString() : null);
  }

  private static long untilMicros(Restriction lock) {
    return ChronoUnit.MICROS.between(Instant.EPOCH, lock.until());
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
      return new Place(LockPage.untilMicros(lock), lock.account().toString());
    }

    /** Whether a lock comes after this position. */
    public boolean isBefore(Restriction lock) {
      int byEnd = Long.compare(untilMicros, LockPage.untilMicros(lock));
      return byEnd != 0 ? byEnd < 0 : account.compareTo(lock.account().toString()) < 0;
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
