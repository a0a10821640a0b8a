package dev.sluice.server.api;

import dev.sluice.Account;
import dev.sluice.Cycle;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Lock;
import dev.sluice.Receipt;
import dev.sluice.Terms;
import dev.sluice.internal.Durations;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.DateTimeException;
import java.time.DayOfWeek;
import java.time.Duration;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/** Receipts as bytes, whole. Thread-safe. */
public final class ReceiptBytes {
  /*
   * All of a receipt is there, the terms of the take included: a service that was started again, or
   * another one that has the key, can settle it, and so can one whose rules have changed. Bytes of
   * another version are no receipt.
   *
   * Facets and terms are written once and then named by their number. All accounts of a call are
   * made of the facets of one identity, so the largest receipt stays far below
   * Receipts.LONGEST_TEXT. Numbers take as few bytes as they need, and marks are written as their
   * distance from the take.
   */
  static final byte VERSION = 4;

  private static final int MOST_TERMS = 10_000;

  // What an entry says yes or no to.
  private static final int COLOCATED = 1;
  private static final int LOCAL = 2;
  private static final int LOCKED = 4;

  // What terms say yes or no to.
  private static final int COUNT_DENIED = 1;
  private static final int LOCK_ON_LIMIT = 2;

  private final Map<Terms, byte[]> known = new ConcurrentHashMap<>();

  byte[] write(Receipt receipt) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(128);
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      out.writeByte(VERSION);
      write(receipt, out);
    } catch (IOException e) {
      throw new UncheckedIOException("memory cannot fail to be written", e);
    }
    return bytes.toByteArray();
  }

  /** The receipt in bytes; nothing if another version wrote them. */
  public static Optional<Receipt> read(byte[] content) {
    try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(content))) {
      return in.readByte() == VERSION ? Optional.of(read(in)) : Optional.empty();
    } catch (IOException
        | IllegalArgumentException
        | DateTimeException
        | IndexOutOfBoundsException e) {
      return Optional.empty();
    }
  }

  private void write(Receipt receipt, DataOutputStream out) throws IOException {
    List<String> facets = new ArrayList<>(2);
    List<Terms> terms = new ArrayList<>(2);
    for (Receipt.Entry entry : receipt.entries()) {
      for (String facet : facets(entry)) {
        addNew(facets, facet);
      }
      addNew(terms, entry.terms());
    }
    out.writeUTF(receipt.id());
    writeNumber(receipt.takenAtMicros(), out);
    writeNumber(receipt.openUntilMicros(), out);
    out.writeUTF(receipt.node());
    writeNumber(facets.size(), out);
    for (String facet : facets) {
      out.writeUTF(facet);
    }
    writeNumber(terms.size(), out);
    for (Terms each : terms) {
      out.write(bytes(each));
    }
    writeNumber(receipt.entries().size(), out);
    for (Receipt.Entry entry : receipt.entries()) {
      write(entry, receipt.takenAtMicros(), facets, terms, out);
    }
    writeNumber(receipt.exempt().size(), out);
    for (String rule : receipt.exempt()) {
      out.writeUTF(rule);
    }
  }

  private static <T> void addNew(List<T> list, T element) {
    if (!list.contains(element)) {
      list.add(element);
    }
  }

  /** The facets of an account, each as its canonical text {@code name=value}. */
  private static List<String> facets(Receipt.Entry entry) {
    return List.of(entry.account().identity().toString().split("&", -1));
  }

  private static void write(
      Receipt.Entry entry,
      long takenAtMicros,
      List<String> facets,
      List<Terms> terms,
      DataOutputStream out)
      throws IOException {
    out.writeUTF(entry.account().rule());
    List<String> own = facets(entry);
    writeNumber(own.size(), out);
    for (String facet : own) {
      writeNumber(facets.indexOf(facet), out);
    }
    out.writeByte(
        (entry.account().colocated() ? COLOCATED : 0)
            | (entry.local() ? LOCAL : 0)
            | (entry.locked() ? LOCKED : 0));
    writeNumber(terms.indexOf(entry.terms()), out);
    writeNumber(entry.cost(), out);
    writeNumber(entry.given(), out);
    writeNumber(entry.marks().size(), out);
    for (Receipt.Mark mark : entry.marks()) {
      writeDistance(mark.micros() - takenAtMicros, out);
      writeNumber(mark.number(), out);
    }
  }

  private static Receipt read(DataInputStream in) throws IOException {
    String id = in.readUTF();
    long takenAtMicros = readNumber(in);
    long openUntilMicros = readNumber(in);
    String node = in.readUTF();
    List<String> facets = new ArrayList<>();
    for (int left = readCount(in); left > 0; left--) {
      facets.add(in.readUTF());
    }
    List<Terms> terms = new ArrayList<>();
    for (int left = readCount(in); left > 0; left--) {
      terms.add(readTerms(in));
    }
    List<Receipt.Entry> entries = new ArrayList<>();
    for (int left = readCount(in); left > 0; left--) {
      entries.add(readEntry(in, takenAtMicros, facets, terms));
    }
    List<String> exempt = new ArrayList<>();
    for (int left = readCount(in); left > 0; left--) {
      exempt.add(in.readUTF());
    }
    return new Receipt(id, takenAtMicros, openUntilMicros, entries, node, exempt);
  }

  private static Receipt.Entry readEntry(
      DataInputStream in, long takenAtMicros, List<String> facets, List<Terms> terms)
      throws IOException {
    String rule = in.readUTF();
    List<String> own = new ArrayList<>();
    for (int left = readCount(in); left > 0; left--) {
      own.add(facets.get(readCount(in)));
    }
    int flags = in.readUnsignedByte();
    Account account =
        new Account(rule, Identity.parse(String.join("&", own)), (flags & COLOCATED) != 0);
    Terms its = terms.get(readCount(in));
    long cost = readNumber(in);
    long given = readNumber(in);
    List<Receipt.Mark> marks = new ArrayList<>();
    for (int left = readCount(in); left > 0; left--) {
      marks.add(new Receipt.Mark(takenAtMicros + readDistance(in), readNumber(in)));
    }
    return new Receipt.Entry(
        account, its, cost, marks, given, (flags & LOCKED) != 0, (flags & LOCAL) != 0);
  }

  /** The bytes of terms: the same for every receipt of a rule, so they are made once. */
  private byte[] bytes(Terms terms) throws IOException {
    byte[] found = known.get(terms);
    if (found == null) {
      if (known.size() >= MOST_TERMS) {
        known.clear();
      }
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      write(terms, new DataOutputStream(bytes));
      found = bytes.toByteArray();
      known.put(terms, found);
    }
    return found;
  }

  private static void write(Terms terms, DataOutputStream out) throws IOException {
    writeNumber(terms.limits().size(), out);
    for (Limit limit : terms.limits()) {
      write(limit, out);
    }
    Lock lock = terms.lock();
    out.writeByte(
        (terms.countDenied() ? COUNT_DENIED : 0)
            | (lock != null && lock.on() == Lock.On.LIMIT ? LOCK_ON_LIMIT : 0));
    List<Duration> lengths = lock == null ? List.of() : lock.durations();
    writeNumber(lengths.size(), out);
    for (Duration length : lengths) {
      write(length, out);
    }
    if (lock != null) {
      write(lock.memory(), out);
    }
  }

  private static Terms readTerms(DataInputStream in) throws IOException {
    List<Limit> limits = new ArrayList<>();
    for (int left = readCount(in); left > 0; left--) {
      limits.add(readLimit(in));
    }
    int flags = in.readUnsignedByte();
    List<Duration> lengths = new ArrayList<>();
    for (int left = readCount(in); left > 0; left--) {
      lengths.add(readDuration(in));
    }
    Lock.On on = (flags & LOCK_ON_LIMIT) != 0 ? Lock.On.LIMIT : Lock.On.DENIAL;
    Lock lock = lengths.isEmpty() ? null : new Lock(lengths, readDuration(in), on);
    return new Terms(limits, lock, (flags & COUNT_DENIED) != 0);
  }

  private static void write(Limit limit, DataOutputStream out) throws IOException {
    if (limit instanceof Limit.FixedWindow fixed) {
      out.writeByte('F');
      writeNumber(fixed.limit(), out);
      out.writeUTF(fixed.cycle().toString());
    } else if (limit instanceof Limit.SlidingLog log) {
      out.writeByte('L');
      writeNumber(log.limit(), out);
      write(log.window(), out);
    } else if (limit instanceof Limit.SlidingWindow sliding) {
      out.writeByte('S');
      writeNumber(sliding.limit(), out);
      write(sliding.window(), out);
      write(sliding.precision(), out);
    } else if (limit instanceof Limit.TokenBucket bucket) {
      out.writeByte('B');
      writeNumber(bucket.capacity(), out);
      writeNumber(bucket.refill(), out);
      write(bucket.period(), out);
      writeNumber(bucket.debt(), out);
    } else {
      throw new IllegalStateException("no letter for limits such as " + limit);
    }
  }

  private static Limit readLimit(DataInputStream in) throws IOException {
    int kind = in.readUnsignedByte();
    long count = readNumber(in);
    return switch (kind) {
      case 'F' -> Limit.fixedWindow(count, cycle(in.readUTF()));
      case 'L' -> Limit.slidingLog(count, readDuration(in));
      case 'S' -> Limit.slidingWindow(count, readDuration(in), readDuration(in));
      case 'B' ->
          Limit.tokenBucket(count, readNumber(in), readDuration(in)).withDebt(readNumber(in));
      default -> throw new IOException("limit of kind " + kind);
    };
  }

  private static void write(Duration duration, DataOutputStream out) throws IOException {
    writeNumber(Durations.micros(duration), out);
  }

  private static Duration readDuration(DataInputStream in) throws IOException {
    return Durations.ofMicros(readNumber(in));
  }

  /** Seven bits a byte, the lowest first; all but the last byte have the eighth bit. */
  private static void writeNumber(long number, DataOutputStream out) throws IOException {
    long left = number;
    while ((left & ~0x7fL) != 0) {
      out.writeByte((int) ((left & 0x7f) | 0x80));
      left >>>= 7;
    }
    out.writeByte((int) left);
  }

  private static long readNumber(DataInputStream in) throws IOException {
    long number = 0;
    for (int shift = 0; shift < Long.SIZE; shift += 7) {
      int next = in.readUnsignedByte();
      number |= (next & 0x7fL) << shift;
      if (next < 0x80) {
        return number;
      }
    }
    throw new IOException("a number without an end");
  }

  /** A number that may be negative: its sign is the lowest bit. */
  private static void writeDistance(long distance, DataOutputStream out) throws IOException {
    writeNumber((distance << 1) ^ (distance >> 63), out);
  }

  private static long readDistance(DataInputStream in) throws IOException {
    long read = readNumber(in);
    return (read >>> 1) ^ -(read & 1);
  }

  /** How many there are of something, or which one it is. */
  private static int readCount(DataInputStream in) throws IOException {
    long count = readNumber(in);
    if (count < 0 || count > Receipts.LONGEST_TEXT) {
      throw new IOException("a count of " + count);
    }
    return (int) count;
  }

  /** Reads what a cycle says of itself: {@code 1h}, {@code month in Europe/Berlin from day 15}. */
  private static Cycle cycle(String text) {
    String[] words = text.split(" ", -1);
    if (words.length == 1) {
      return Cycle.every(Durations.parse(text));
    }
    Cycle.Unit unit = Cycle.Unit.valueOf(words[0].toUpperCase(Locale.ROOT));
    ZoneId zone = ZoneId.of(words[2]);
    String anchor = words[words.length - 1].toUpperCase(Locale.ROOT);
    if (words.length == 3) {
      return Cycle.calendar(unit, zone);
    }
    return switch (unit) {
      case MONTH -> Cycle.monthly(zone, Integer.parseInt(anchor));
      case WEEK -> Cycle.weekly(zone, DayOfWeek.valueOf(anchor));
      case YEAR ->
          Cycle.yearly(
              zone,
              Integer.parseInt(anchor.substring(0, 2)),
              Integer.parseInt(anchor.substring(3)));
      default -> throw new IllegalArgumentException(text);
    };
  }
}
