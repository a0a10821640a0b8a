package dev.sluice.server;

import dev.sluice.Account;
import dev.sluice.Cycle;
import dev.sluice.Durations;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Lock;
import dev.sluice.Receipt;
import dev.sluice.Terms;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.DateTimeException;
import java.time.DayOfWeek;
import java.time.Duration;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/** Receipts as opaque text that only the holders of a key can write. Thread-safe. */
final class Receipts {
  /*
   * Whoever could write a receipt could give back what was never taken. So the text is
   *
   *     base64url( 2 | the receipt | the first 16 bytes of HMAC-SHA256 over what comes before )
   *
   * It holds the receipt whole, the terms of the take included: a service that was started again, or
   * another one that has the key, can settle it, and so can one whose rules have changed.
   *
   * Facets and terms are written once and then named by their number. All accounts of a call are
   * made of the facets of one identity, so the largest receipt stays far below LONGEST_TEXT.
   */
  private static final byte VERSION = 2;
  private static final int SEAL_BYTES = 16;

  /** Longer than the receipt of the largest call; a test makes that one. */
  static final int LONGEST_TEXT = 128 * 1024;

  private static final int MOST_TERMS = 10_000;

  private final ReceiptKeys keys;
  private final Map<Terms, byte[]> known = new ConcurrentHashMap<>();
  private volatile Ring ring;

  Receipts(ReceiptKeys keys) {
    this.keys = keys;
    this.ring = new Ring(keys.keys());
  }

  /** A key, and for each thread what computes seals with it. */
  private static final class Seal {
    private final ThreadLocal<Mac> mac;

    Seal(byte[] key) {
      SecretKeySpec spec = new SecretKeySpec(key, "HmacSHA256");
      this.mac = ThreadLocal.withInitial(() -> newMac(spec));
    }

    private static Mac newMac(SecretKeySpec key) {
      try {
        Mac fresh = Mac.getInstance("HmacSHA256");
        fresh.init(key);
        return fresh;
      } catch (GeneralSecurityException e) {
        throw new IllegalStateException("every JVM has HmacSHA256", e);
      }
    }

    byte[] of(byte[] content) {
      return Arrays.copyOf(mac.get().doFinal(content), SEAL_BYTES);
    }
  }

  /** The seals of the keys that hold now; the first of them seals. */
  private static final class Ring {
    private final List<byte[]> keys;
    private final List<Seal> seals;

    Ring(List<byte[]> keys) {
      this.keys = keys;
      this.seals = keys.stream().map(Seal::new).toList();
    }
  }

  @SuppressWarnings("ReferenceEquality") // the same list until the keys change
  private List<Seal> seals() {
    List<byte[]> now = keys.keys();
    Ring found = ring;
    if (found.keys != now) {
      found = new Ring(now);
      ring = found;
    }
    return found.seals;
  }

  /** The text of a receipt; null if nothing was taken. */
  @Nullable String seal(Receipt receipt) {
    if (receipt.entries().isEmpty()) {
      return null;
    }
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(160);
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      out.writeByte(VERSION);
      write(receipt, out);
    } catch (IOException e) {
      throw new UncheckedIOException("memory cannot fail to be written", e);
    }
    bytes.writeBytes(seals().get(0).of(bytes.toByteArray()));
    return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes.toByteArray());
  }

  /** The receipt in a text, or nothing if it was not sealed with a key that still holds. */
  Optional<Receipt> open(String text) {
    if (text.length() > LONGEST_TEXT) {
      return Optional.empty();
    }
    byte[] all;
    try {
      all = Base64.getUrlDecoder().decode(text);
    } catch (IllegalArgumentException e) {
      return Optional.empty();
    }
    if (all.length <= SEAL_BYTES || all[0] != VERSION) {
      return Optional.empty();
    }
    byte[] content = Arrays.copyOf(all, all.length - SEAL_BYTES);
    byte[] seal = Arrays.copyOfRange(all, content.length, all.length);
    boolean ours = false;
    for (Seal each : seals()) {
      ours |= MessageDigest.isEqual(seal, each.of(content));
    }
    return ours ? read(content) : Optional.empty();
  }

  /** The receipt in bytes; nothing if they are of a version that writes other bytes. */
  static Optional<Receipt> read(byte[] content) {
    try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(content))) {
      in.readByte();
      return Optional.of(read(in));
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
    out.writeLong(receipt.takenAtMicros());
    out.writeUTF(receipt.node());
    out.writeShort(facets.size());
    for (String facet : facets) {
      out.writeUTF(facet);
    }
    out.writeShort(terms.size());
    for (Terms each : terms) {
      out.write(bytes(each));
    }
    out.writeShort(receipt.entries().size());
    for (Receipt.Entry entry : receipt.entries()) {
      write(entry, facets, terms, out);
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
      Receipt.Entry entry, List<String> facets, List<Terms> terms, DataOutputStream out)
      throws IOException {
    out.writeUTF(entry.account().rule());
    List<String> own = facets(entry);
    out.writeShort(own.size());
    for (String facet : own) {
      out.writeShort(facets.indexOf(facet));
    }
    out.writeBoolean(entry.account().colocated());
    out.writeBoolean(entry.local());
    out.writeShort(terms.indexOf(entry.terms()));
    out.writeLong(entry.cost());
    out.writeByte(entry.marks().size());
    for (Receipt.Mark mark : entry.marks()) {
      out.writeLong(mark.micros());
      out.writeLong(mark.units());
    }
  }

  private static Receipt read(DataInputStream in) throws IOException {
    String id = in.readUTF();
    long takenAtMicros = in.readLong();
    String node = in.readUTF();
    List<String> facets = new ArrayList<>();
    for (int left = in.readUnsignedShort(); left > 0; left--) {
      facets.add(in.readUTF());
    }
    List<Terms> terms = new ArrayList<>();
    for (int left = in.readUnsignedShort(); left > 0; left--) {
      terms.add(readTerms(in));
    }
    List<Receipt.Entry> entries = new ArrayList<>();
    for (int left = in.readUnsignedShort(); left > 0; left--) {
      entries.add(readEntry(in, facets, terms));
    }
    return new Receipt(id, takenAtMicros, entries, node);
  }

  private static Receipt.Entry readEntry(DataInputStream in, List<String> facets, List<Terms> terms)
      throws IOException {
    String rule = in.readUTF();
    List<String> own = new ArrayList<>();
    for (int left = in.readUnsignedShort(); left > 0; left--) {
      own.add(facets.get(in.readUnsignedShort()));
    }
    Identity identity = Identity.parse(String.join("&", own));
    Account account = new Account(rule, identity, in.readBoolean());
    boolean local = in.readBoolean();
    Terms its = terms.get(in.readUnsignedShort());
    long cost = in.readLong();
    List<Receipt.Mark> marks = new ArrayList<>();
    for (int left = in.readUnsignedByte(); left > 0; left--) {
      marks.add(new Receipt.Mark(in.readLong(), in.readLong()));
    }
    return new Receipt.Entry(account, its, cost, marks, local);
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
    out.writeByte(terms.limits().size());
    for (Limit limit : terms.limits()) {
      write(limit, out);
    }
    Lock lock = terms.lock();
    List<Duration> lengths = lock == null ? List.of() : lock.durations();
    out.writeShort(lengths.size());
    for (Duration length : lengths) {
      out.writeLong(Durations.micros(length));
    }
    out.writeLong(lock == null ? 0 : Durations.micros(lock.memory()));
    out.writeBoolean(terms.countDenied());
  }

  private static Terms readTerms(DataInputStream in) throws IOException {
    List<Limit> limits = new ArrayList<>();
    for (int left = in.readUnsignedByte(); left > 0; left--) {
      limits.add(readLimit(in));
    }
    List<Duration> lengths = new ArrayList<>();
    for (int left = in.readUnsignedShort(); left > 0; left--) {
      lengths.add(readDuration(in));
    }
    Duration memory = readDuration(in);
    Lock lock = lengths.isEmpty() ? null : new Lock(lengths, memory);
    return new Terms(limits, lock, in.readBoolean());
  }

  private static void write(Limit limit, DataOutputStream out) throws IOException {
    if (limit instanceof Limit.FixedWindow fixed) {
      out.writeByte('F');
      out.writeLong(fixed.limit());
      out.writeUTF(fixed.cycle().toString());
    } else if (limit instanceof Limit.SlidingLog log) {
      out.writeByte('L');
      out.writeLong(log.limit());
      out.writeLong(log.windowMicros());
    } else if (limit instanceof Limit.SlidingWindow sliding) {
      out.writeByte('S');
      out.writeLong(sliding.limit());
      out.writeLong(sliding.windowMicros());
      out.writeLong(sliding.precisionMicros());
    } else if (limit instanceof Limit.TokenBucket bucket) {
      out.writeByte('B');
      out.writeLong(bucket.capacity());
      out.writeLong(bucket.refill());
      out.writeLong(Durations.micros(bucket.period()));
    }
  }

  private static Limit readLimit(DataInputStream in) throws IOException {
    int kind = in.readUnsignedByte();
    long count = in.readLong();
    return switch (kind) {
      case 'F' -> Limit.fixed(count, cycle(in.readUTF()));
      case 'L' -> Limit.log(count, readDuration(in));
      case 'S' -> Limit.sliding(count, readDuration(in), readDuration(in));
      case 'B' -> Limit.bucket(count, in.readLong(), readDuration(in));
      default -> throw new IOException("limit of kind " + kind);
    };
  }

  private static Duration readDuration(DataInputStream in) throws IOException {
    return Durations.ofMicros(in.readLong());
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
