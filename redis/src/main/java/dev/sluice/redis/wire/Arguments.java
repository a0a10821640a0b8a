package dev.sluice.redis.wire;

import dev.sluice.Account;
import dev.sluice.Terms;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The keys and the other arguments of one call of the library (see run.lua), encoded. */
final class Arguments {
  /*
   * A key is written once. Operations on the same account name its place, an index into the keys.
   * Equal keys are found by a hash table of places, and compared as bytes.
   */
  private static final int DIGITS = 128; // so that each byte of a place is ASCII
  private static final int BYTES_OF_KEY = 64;
  private static final int BYTES_OF_WORDS = 192;

  private final Function<Terms, EncodedTerms> encoding;
  private final List<Long> moments;
  private final boolean onlyOnce;
  private final Frame keys;
  private final Frame words;
  private final Frame places; // of the next argument
  private int[] table; // a place, or 0; at least half of it is free
  private int[] hashes; // of the key at each place
  private int[] starts; // where the key at each place begins
  private String @Nullable [] first;

  /**
   * No arguments yet.
   *
   * @param moments the times whose calendar windows are sent along
   * @param expected how many keys to expect
   * @param onlyOnce whether there is one argument of places, and no key that is not in it
   */
  Arguments(
      Function<Terms, EncodedTerms> encoding, List<Long> moments, int expected, boolean onlyOnce) {
    this.onlyOnce = onlyOnce;
    this.encoding = encoding;
    this.moments = moments;
    this.keys = new Frame(BYTES_OF_KEY * expected);
    this.words = new Frame(BYTES_OF_WORDS);
    this.places = new Frame(2 * expected);
    this.table = new int[2 * Integer.highestOneBit(2 * Math.max(1, expected) - 1)];
    this.hashes = new int[table.length / 2 + 1];
    this.starts = new int[table.length / 2 + 1];
  }

  void add(String argument) {
    words.add(argument);
  }

  void add(long number) {
    words.add(Long.toString(number));
  }

  /** Terms in the encoding of the library. */
  String encoded(Terms terms) {
    return encoding.apply(terms).text(moments);
  }

  /** Adds the place of an account to the next argument. */
  void place(Keyspace keyspace, Account account) {
    place(keyspace.parts(account));
  }

  /** Adds the place of a key, given in parts, to the next argument. */
  void place(String... key) {
    int place = placeOf(key);
    if (place >= DIGITS * DIGITS) {
      throw new IllegalStateException("a call on more than 16,383 accounts");
    }
    places.write(place % DIGITS);
    places.write(place / DIGITS);
  }

  /** Ends an argument of places. It is empty if all keys are named once and in order. */
  void addPlaces() {
    if (!onlyOnce || places.size() != 2 * keys.count()) {
      words.add(places);
    } else {
      words.add("");
    }
    places.clear();
  }

  private int placeOf(String[] key) {
    if (keys.count() == hashes.length - 1) {
      grow();
    }
    int hash = Arrays.hashCode(key);
    int start = keys.size();
    addKey(key);
    int at = slot(hash, start);
    if (table[at] != 0) {
      keys.removeLast(start);
      return table[at];
    }
    int place = keys.count();
    table[at] = place;
    hashes[place] = hash;
    starts[place] = start;
    return place;
  }

  /** The slot in the table of the last key, which begins at {@code start}. */
  private int slot(int hash, int start) {
    int at = (hash ^ (hash >>> 16)) & (table.length - 1);
    while (table[at] != 0
        && !(hashes[table[at]] == hash && keys.repeats(starts[table[at]], start))) {
      at = (at + 1) & (table.length - 1);
    }
    return at;
  }

  private void grow() {
    int known = hashes.length - 1;
    table = new int[2 * table.length];
    hashes = Arrays.copyOf(hashes, 2 * known + 1);
    starts = Arrays.copyOf(starts, 2 * known + 1);
    for (int place = 1; place <= known; place++) {
      int at = hashes[place] ^ (hashes[place] >>> 16);
      while (table[at & (table.length - 1)] != 0) {
        at++;
      }
      table[at & (table.length - 1)] = place;
    }
  }

  /** Adds a key that has no place, after all that have one. */
  void addKey(String... parts) {
    first = first == null ? parts : first;
    keys.add(parts);
  }

  Frame keys() {
    return keys;
  }

  Frame words() {
    return words;
  }

  /** The first key, by which the client finds the node; null without keys. */
  @Nullable String firstKey() {
    return first == null ? null : String.join("", first);
  }
}
