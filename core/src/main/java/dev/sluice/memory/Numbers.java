package dev.sluice.memory;

import org.jspecify.annotations.Nullable;

/**
 * A growing queue of numbers that can be read and changed at any index. The queues of a row are a
 * linked list, since nearly every row has at most one.
 */
final class Numbers {
  final int owner;
  final @Nullable Numbers next;
  private long[] ring = new long[4];
  private int head;
  private int size;

  Numbers(int owner, @Nullable Numbers next) {
    this.owner = owner;
    this.next = next;
  }

  int size() {
    return size;
  }

  long get(int place) {
    return ring[(head + place) & (ring.length - 1)];
  }

  void set(int place, long number) {
    ring[(head + place) & (ring.length - 1)] = number;
  }

  void add(long number) {
    if (size == ring.length) {
      resize(2 * size);
    }
    size++;
    set(size - 1, number);
  }

  void removeFirst(int count) {
    head = (head + count) & (ring.length - 1);
    size -= count;
    if (ring.length > 16 && size < ring.length / 8) {
      resize(ring.length / 4);
    }
  }

  /** Removes some numbers from the middle. */
  void remove(int place, int count) {
    for (int i = place; i + count < size; i++) {
      set(i, get(i + count));
    }
    size -= count;
  }

  private void resize(int length) {
    long[] wider = new long[length];
    for (int i = 0; i < size; i++) {
      wider[i] = get(i);
    }
    ring = wider;
    head = 0;
  }
}
