package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Account;
import dev.sluice.Cycle;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Lock;
import dev.sluice.Receipt;
import dev.sluice.Terms;
import java.time.DayOfWeek;
import java.time.Duration;
import java.time.ZoneId;
import java.util.Base64;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class ReceiptsTest {
  private static final ZoneId BERLIN = ZoneId.of("Europe/Berlin");
  private static final Receipts RECEIPTS = new Receipts(new byte[] {1, 2, 3});

  static Stream<Limit> limits() {
    return Stream.of(
        Limit.log(3, Duration.ofMinutes(30)),
        Limit.sliding(1_000, Duration.ofHours(1), Duration.ofSeconds(7)),
        Limit.bucket(100, 7, Duration.ofMillis(1_500)),
        Limit.fixed(5, Duration.ofMinutes(90)),
        Limit.fixed(5, Cycle.calendar(Cycle.Unit.MINUTE, BERLIN)),
        Limit.fixed(5, Cycle.calendar(Cycle.Unit.HOUR, BERLIN)),
        Limit.fixed(5, Cycle.calendar(Cycle.Unit.DAY, ZoneId.of("UTC"))),
        Limit.fixed(5, Cycle.calendar(Cycle.Unit.DAY, ZoneId.of("+02:00"))),
        Limit.fixed(5, Cycle.calendar(Cycle.Unit.WEEK, BERLIN)),
        Limit.fixed(5, Cycle.weekly(BERLIN, DayOfWeek.SUNDAY)),
        Limit.fixed(5, Cycle.calendar(Cycle.Unit.MONTH, BERLIN)),
        Limit.fixed(5, Cycle.monthly(BERLIN, 15)),
        Limit.fixed(5, Cycle.calendar(Cycle.Unit.YEAR, BERLIN)),
        Limit.fixed(5, Cycle.yearly(BERLIN, 4, 6)));
  }

  private static Receipt receipt(Limit limit) {
    Account account = new Account("r", Identity.of("login", "Zoë & co", "ip", "::/64"), true);
    Lock lock = new Lock(List.of(Duration.ofMinutes(1), Duration.ofHours(1)), Duration.ofDays(1));
    Terms terms = new Terms(List.of(limit, Limit.log(1, Duration.ofSeconds(1))), lock, true);
    Receipt.Entry entry =
        new Receipt.Entry(account, terms, 7, List.of(new Receipt.Mark(1_700_000_000_000_000L, 3)));
    return new Receipt("r-1", 1_700_000_000_000_001L, List.of(entry, entry));
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
    String foreign = new Receipts(new byte[] {1, 2, 4}).seal(receipt(limits().findFirst().get()));

    assertThat(RECEIPTS.open(foreign)).isEmpty();
  }

  @Test
  void nothingTakenIsNoReceipt() {
    assertThat(RECEIPTS.seal(new Receipt("-", 0, List.of()))).isNull();
  }
}
