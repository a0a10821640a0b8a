package dev.sluice.memory;

import dev.sluice.Balance;
import dev.sluice.Limit.SlidingLog;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Every call that the sliding logs of one account remember. Mutable: touched under a claim only.
 */
final class Log {
  /*
   * Three arrays, oldest first, live from `head` to `tail`: when, by which call, and the sum of all
   * costs up to and with it. Sums make a look a binary search: what was used since a moment is one
   * subtraction, and the call whose leaving makes room is found by the sum it reaches. `gone` is the
   * sum of what has left, so the first live entry's cost is sums[head] - gone.
   *
   * All logs of an account share it: a shorter window looks at the end of a longer one. It keeps
   * the newest entries up to the largest limit; older ones could not change a decision.
   */
  private long[] times = new long[4];
  private long[] sums = new long[4];
  private @Nullable String[] ids = new String[4];
  private int head;
  private int tail;
  private long gone;
  private long fullSince;

  /** A log that was full at a moment, whatever it held. */
  static Log fullSince(long moment) {
    Log log = new Log();
    log.fullSince = moment;
    return log;
  }

  long notBefore() {
    return Math.max(fullSince, head == tail ? 0 : times[tail - 1]);
  }

  private boolean isFull(SlidingLog limit, long now) {
    return fullSince > now - limit.windowMicros() && fullSince != 0;
  }

  /** The first live entry after a moment. */
  private int firstAfter(long moment) {
    int low = head;
    int high = tail;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (times[middle] > moment) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  private long sumBefore(int place) {
    return place == head ? gone : sums[place - 1];
  }

  private long total() {
    return head == tail ? 0 : sums[tail - 1] - gone;
  }

  private long used(SlidingLog limit, long now) {
    int first = firstAfter(now - limit.windowMicros());
    return first == tail ? 0 : sums[tail - 1] - sumBefore(first);
  }

  long retryAfter(SlidingLog limit, long now, long cost) {
    if (cost > limit.limit()) {
      return Balance.NEVER;
    }
    long opens = isFull(limit, now) ? fullSince + limit.windowMicros() - now : 0;
    int first = firstAfter(now - limit.windowMicros());
    long over = used(limit, now) + cost - limit.limit();
    if (over <= 0) {
      return opens;
    }
    long wanted = sumBefore(first) + over;
    int leaving = Arrays.binarySearch(sums, first, tail, wanted);
    int place = leaving >= 0 ? leaving : -leaving - 1;
    return Math.max(opens, times[place] + limit.windowMicros() - now);
  }

  long remaining(SlidingLog limit, long now) {
    return isFull(limit, now) ? 0 : Math.max(0, limit.limit() - used(limit, now));
  }

  long resetAfter(SlidingLog limit, long now) {
    return Math.max(0, notBefore() == 0 ? 0 : notBefore() + limit.windowMicros() - now);
  }

  /**
   * Remembers a call.
   *
   * @param id the id of its receipt
   * @param forgotten the moment up to which nothing matters any more
   * @param most what the largest limit can look at
   */
  void add(long now, long cost, String id, long forgotten, long most) {
    forgetUntil(forgotten);
    if (tail == times.length) {
      makeRoom();
    }
    long before = head == tail ? gone : sums[tail - 1];
    times[tail] = now;
    sums[tail] = before + Math.min(cost, most);
    ids[tail] = id;
    tail++;
    while (sums[head] <= sums[tail - 1] - most) {
      forgetFirst();
    }
    gone = Math.max(gone, sums[tail - 1] - most);
  }

  /** Takes back up to so much of the cost of a call that was added at a moment. */
  void remove(String id, long at, long back) {
    int place = place(id, at);
    if (place < 0) {
      return;
    }
    long less = Math.min(back, sums[place] - sumBefore(place));
    for (int i = place; i < tail; i++) {
      sums[i] -= less;
    }
    if (sums[place] == sumBefore(place)) {
      int after = tail - place - 1;
      System.arraycopy(times, place + 1, times, place, after);
      System.arraycopy(sums, place + 1, sums, place, after);
      System.arraycopy(ids, place + 1, ids, place, after);
      tail--;
    }
  }

  /** Where a call stands: one that was forgotten and came again has the same id. */
  private int place(String id, long at) {
    for (int i = firstAfter(at - 1); i < tail && times[i] == at; i++) {
      if (id.equals(ids[i])) {
        return i;
      }
    }
    return -1;
  }

  private void forgetUntil(long moment) {
    while (head < tail && times[head] <= moment) {
      forgetFirst();
    }
  }

  private void forgetFirst() {
    gone = sums[head];
    ids[head] = null;
    head++;
  }

  private void makeRoom() {
    int size = tail - head;
    int capacity = size > times.length / 2 ? times.length * 2 : times.length;
    times = shifted(times, new long[capacity], size);
    sums = shifted(sums, new long[capacity], size);
    ids = shifted(ids, new String[capacity], size);
    tail = size;
    head = 0;
  }

  private <A> A shifted(A from, A to, int size) {
    System.arraycopy(from, head, to, 0, size);
    return to;
  }

  boolean isIdle(long now, long longestWindow) {
    return total() == 0 ? fullSince <= now - longestWindow : notBefore() <= now - longestWindow;
  }
}
