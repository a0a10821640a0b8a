package dev.sluice.server.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Account;
import dev.sluice.Cycle;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Lock;
import dev.sluice.Receipt;
import dev.sluice.Terms;
import dev.sluice.internal.Bounds;
import dev.sluice.server.http.Settings;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.DayOfWeek;
import java.time.Duration;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

public class ReceiptsTest {
  /** A longer value is kept as its hash. */
  private static final int LONGEST_KEPT = 128;

  private static final ZoneId BERLIN = ZoneId.of("Europe/Berlin");
  private static final Receipts RECEIPTS = new Receipts(ReceiptKeys.ofProcess());

  public static Stream<Limit> limits() {
    return Stream.of(
        Limit.slidingLog(3, Duration.ofMinutes(30)),
        Limit.slidingWindow(1_000, Duration.ofHours(1), Duration.ofSeconds(7)),
        Limit.tokenBucket(100, 7, Duration.ofMillis(1_500)),
        Limit.tokenBucket(100, 7, Duration.ofMillis(1_500)).withDebt(0),
        Limit.tokenBucket(100, 7, Duration.ofMillis(1_500)).withDebt(12_345),
        Limit.fixedWindow(5, Duration.ofMinutes(90)),
        Limit.fixedWindow(5, Cycle.calendar(Cycle.Unit.MINUTE, BERLIN)),
        Limit.fixedWindow(5, Cycle.calendar(Cycle.Unit.HOUR, BERLIN)),
        Limit.fixedWindow(5, Cycle.calendar(Cycle.Unit.DAY, ZoneId.of("UTC"))),
        Limit.fixedWindow(5, Cycle.calendar(Cycle.Unit.DAY, ZoneId.of("+02:00"))),
        Limit.fixedWindow(5, Cycle.calendar(Cycle.Unit.WEEK, BERLIN)),
        Limit.fixedWindow(5, Cycle.weekly(BERLIN, DayOfWeek.SUNDAY)),
        Limit.fixedWindow(5, Cycle.calendar(Cycle.Unit.MONTH, BERLIN)),
        Limit.fixedWindow(5, Cycle.monthly(BERLIN, 15)),
        Limit.fixedWindow(5, Cycle.calendar(Cycle.Unit.YEAR, BERLIN)),
        Limit.fixedWindow(5, Cycle.yearly(BERLIN, 4, 6)));
  }

  private static Receipt receipt(Limit limit) {
    Account account = new Account("r", Identity.of("login", "Zoë & co", "ip", "::/64"), true);
    Lock lock = new Lock(List.of(Duration.ofMinutes(1), Duration.ofHours(1)), Duration.ofDays(1));
    Terms terms = new Terms(List.of(limit, Limit.slidingLog(1, Duration.ofSeconds(1))), lock, true);
    Receipt.Entry entry =
        new Receipt.Entry(account, terms, 7, List.of(new Receipt.Mark(1_700_000_000_000_000L, 3)));
    Terms onLimit = Terms.of(limit).locking(Lock.of(Duration.ofSeconds(1)).onLimit());
    List<Receipt.Mark> early = List.of(new Receipt.Mark(1_600_000_000_000_000L, 1L << 52));
    return new Receipt(
        "r-1",
        1_700_000_000_000_001L,
        1_700_000_060_000_001L,
        List.of(
            entry,
            entry.locking(),
            new Receipt.Entry(account, Terms.of(limit), 2, List.of(), 5, false, true),
            new Receipt.Entry(account, onLimit, 0, early, 1L << 52, true, true)),
        "node-7",
        List.of("free", "also free"));
  }

  @ParameterizedTest
  @MethodSource("limits")
  void everyReceiptComesBackAsItWas(Limit limit) {
    Receipt receipt = receipt(limit);

    assertThat(RECEIPTS.open(RECEIPTS.seal(receipt))).contains(receipt);
  }

  @Test
  void aChangedReceiptIsNone() {
    byte[] sealed =
        Base64.getUrlDecoder().decode(RECEIPTS.seal(receipt(limits().findFirst().get())));

    for (int i = 0; i < sealed.length; i++) {
      byte[] changed = sealed.clone();
      changed[i] ^= 1;
      String text = Base64.getUrlEncoder().withoutPadding().encodeToString(changed);
      assertThat(RECEIPTS.open(text)).describedAs("byte %d", i).isEmpty();
    }
    assertThat(RECEIPTS.open("")).isEmpty();
    assertThat(RECEIPTS.open("not base64!")).isEmpty();
    assertThat(RECEIPTS.open("AQ")).isEmpty();
    assertThat(RECEIPTS.open("A".repeat(100_000))).isEmpty();
  }

  @Test
  void aReceiptOfAnotherKeyIsNone() {
    Receipts others = new Receipts(ReceiptKeys.ofProcess());

    String foreign = others.seal(receipt(limits().findFirst().get()));

    assertThat(RECEIPTS.open(foreign)).isEmpty();
  }

  @Test
  void aReceiptOfTheKeyBeforeIsGoodUntilTheNextRotation() {
    ReceiptKeys keys = ReceiptKeys.ofProcess();
    Receipts receipts = new Receipts(keys);
    Receipt receipt = receipt(limits().findFirst().get());
    String first = receipts.seal(receipt);

    keys.rotate();

    assertThat(receipts.open(first)).contains(receipt);
    String second = receipts.seal(receipt);
    keys.rotate();
    assertThat(receipts.open(first)).isEmpty();
    assertThat(receipts.open(second)).contains(receipt);
  }

  @Test
  void keysInAFileAreTheSameForEveryService(@TempDir Path directory) throws Exception {
    String old = "0f".repeat(32);
    String young = "A1".repeat(32);
    Path before = Files.writeString(directory.resolve("before"), old + "\n");
    Path after = Files.writeString(directory.resolve("after"), young + "\n" + old + "\n");
    Receipt receipt = receipt(limits().findFirst().get());

    String sealed = new Receipts(ReceiptKeys.ofFile(before)).seal(receipt);

    assertThat(new Receipts(ReceiptKeys.ofFile(before)).open(sealed)).contains(receipt);
    assertThat(new Receipts(ReceiptKeys.ofFile(after)).open(sealed)).contains(receipt);
    String newer = new Receipts(ReceiptKeys.ofFile(after)).seal(receipt);
    assertThat(new Receipts(ReceiptKeys.ofFile(before)).open(newer)).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "secret\n", "0f0f", "%1$s\n\n%1$s\n", "%1$s\n%1$s\n%1$s\n"})
  void aKeyFileWithAnythingElseIsRefused(String text, @TempDir Path directory) throws Exception {
    String content = text.formatted("0f".repeat(32));
    Path file = Files.writeString(directory.resolve("keys"), content);

    assertThatThrownBy(() -> ReceiptKeys.ofFile(file))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("receipt key file: ")
        .hasMessageContaining("(expected: one line of 64 hex digits");
  }

  /** More than a call within the bounds can take: each account has the longest terms of its own. */
  private static Receipt largest() {
    Map<String, String> facets = new TreeMap<>();
    for (int i = 0; i < Bounds.MOST_FACETS; i++) {
      String name = Character.toString('a' + i).repeat(Bounds.LONGEST_FACET_NAME);
      facets.put(name, Character.toString('\u4e00' + i).repeat(LONGEST_KEPT));
    }
    Identity identity = Identity.of(facets);
    List<Duration> lengths =
        Stream.iterate(Duration.ofDays(1), length -> length.plusNanos(1_000))
            .limit(Bounds.MOST_LOCK_DURATIONS)
            .toList();
    ZoneId zone = ZoneId.of("America/Argentina/ComodRivadavia");
    List<Receipt.Entry> entries = new ArrayList<>();
    for (int i = 0; i < Bounds.MOST_ACCOUNTS; i++) {
      List<Limit> limits = new ArrayList<>();
      List<Receipt.Mark> marks = new ArrayList<>();
      for (int j = 0; j < Bounds.MOST_LIMITS / Bounds.MOST_ACCOUNTS; j++) {
        limits.add(Limit.fixedWindow(Limit.LARGEST - i, Cycle.yearly(zone, 12, 28 - j)));
        marks.add(new Receipt.Mark(Long.MIN_VALUE / 2 + j, -1 - j));
      }
      String rule = ("r" + i).repeat(Bounds.LONGEST_RULE_NAME).substring(0, 100);
      Lock lock = new Lock(lengths, Duration.ofDays(3_660));
      entries.add(
          new Receipt.Entry(
              new Account(rule, identity, true),
              new Terms(limits, lock, true),
              Limit.LARGEST,
              marks,
              Limit.LARGEST,
              true,
              true));
    }
    String id = "i".repeat(Bounds.LONGEST_ID);
    return new Receipt(id, Long.MAX_VALUE, Long.MAX_VALUE, entries, "n".repeat(Bounds.LONGEST_ID));
  }

  @Test
  void theLargestReceiptIsOpenedAgain() {
    Receipt largest = largest();

    String sealed = RECEIPTS.seal(largest);

    assertThat(sealed.length()).isBetween(64 * 1024, Receipts.LONGEST_TEXT);
    assertThat(RECEIPTS.open(sealed)).contains(largest);
  }

  @Test
  void theLargestSettlementIsRead() {
    String cost = "'%s':4503599627370496,".formatted("r".repeat(Bounds.LONGEST_RULE_NAME));
    String body =
        "{'receipt':'%s','cost':4503599627370496,'costs':{%s}}"
            .formatted("r".repeat(Receipts.LONGEST_TEXT), cost.repeat(Bounds.MOST_RULES));

    assertThat(body.length()).isLessThanOrEqualTo(Settings.SMALLEST_REQUEST_BOUND);
  }

  /** One rule, one limit, a facet: the receipt that most callers send around. */
  @Test
  void theReceiptOfASimpleCallIsShort() {
    Account account = new Account("SecureLogin", Identity.of("login", "ann"));
    List<Receipt.Mark> marks = List.of(new Receipt.Mark(1_700_000_000_000_001L, 17));
    Terms terms = Terms.of(Limit.tokenBucket(100, 10, Duration.ofSeconds(1)));
    Receipt receipt =
        new Receipt(
            "0123456789abcdef0123456789abcdef",
            1_700_000_000_000_001L,
            List.of(new Receipt.Entry(account, terms, 1, marks)));

    assertThat(RECEIPTS.seal(receipt)).hasSizeLessThan(160);
  }

  @Test
  void aReceiptOfAnotherVersionIsNoneAlthoughItIsSealed(@TempDir Path directory) throws Exception {
    String key = "0f".repeat(32);
    Path file = Files.writeString(directory.resolve("key"), key + "\n");
    Receipts receipts = new Receipts(ReceiptKeys.ofFile(file));
    byte[] content = new ReceiptBytes().write(receipt(limits().findFirst().get()));

    assertThat(receipts.open(sealed(content, key))).isPresent();
    for (byte version : new byte[] {0, 1, 2, 3, 5}) {
      content[0] = version;
      assertThat(receipts.open(sealed(content, key))).describedAs("%d", version).isEmpty();
    }
  }

  private static String sealed(byte[] content, String key) throws Exception {
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(HexFormat.of().parseHex(key), "HmacSHA256"));
    byte[] all = Arrays.copyOf(content, content.length + 16);
    System.arraycopy(mac.doFinal(content), 0, all, content.length, 16);
    return Base64.getUrlEncoder().withoutPadding().encodeToString(all);
  }

  @Test
  void nothingTakenIsNoReceipt() {
    assertThat(RECEIPTS.seal(new Receipt("-", 0, List.of()))).isNull();
  }
}
