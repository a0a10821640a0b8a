package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.linecorp.armeria.common.HttpStatus;
import dev.sluice.Account;
import dev.sluice.Call;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Lock;
import dev.sluice.LockPage;
import dev.sluice.Receipt;
import dev.sluice.Restriction;
import dev.sluice.Terms;
import dev.sluice.http.ClientAddress;
import dev.sluice.http.RequestFacets;
import dev.sluice.rules.RuleFiles;
import dev.sluice.server.admin.LockRequest;
import dev.sluice.server.api.CheckRequest;
import dev.sluice.server.api.ReceiptBytes;
import dev.sluice.server.api.ReceiptKeys;
import dev.sluice.server.api.Receipts;
import dev.sluice.server.api.ReceiptsTest;
import dev.sluice.server.api.SettleRequest;
import dev.sluice.server.http.BadInput;
import dev.sluice.server.http.Replies;
import dev.sluice.testing.Mutator;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Every parser of what callers send: each input gives a value or a clear error. */
class FuzzTest {
  private static final int SEAL_BYTES = 16;
  private static final List<Class<? extends Exception>> BAD_INPUT = List.of(BadInput.class);
  private static final Receipts RECEIPTS = new Receipts(ReceiptKeys.ofProcess());

  private static List<byte[]> bytes(String... bodies) {
    return Stream.of(bodies).map(body -> body.getBytes(StandardCharsets.UTF_8)).toList();
  }

  @Test
  void bodiesOfChecks() {
    RequestFacets facets =
        RequestFacets.of(RuleFiles.parse("rules.yaml", Sluice.sample()), ClientAddress.ofPeer());
    List<byte[]> samples =
        bytes(
            "{\"rule\":\"SecureLogin\",\"identity\":{\"login\":\"ann\"},\"cost\":1,\"id\":\"r-1\"}",
            "{\"rules\":[\"SecureLogin\",\"Api\"],\"identity\":{\"login\":\"Zoë\",\"apiKey\":\"\\u00e9\\n\"},\"intent\":\"peek\"}",
            "{\"rule\":\"Everyone\",\"identity\":{\"ip\":\"2001:db8::7\"},\"cost\":4503599627370496}",
            "{\"rules\":[\"SecureLogin\",\"Api\"],\"identity\":{\"login\":\"a\",\"apiKey\":\"k\"},\"costs\":{\"Api\":7,\"SecureLogin\":0}}",
            "{\"rule\":\"PromoQuery\",\"identity\":{\"member\":\"a\",\"promo\":\"😀\"},\"intent\":\"record\",\"receipt\":true}");

    Mutator.feedBytes("CheckRequest.parse", samples, BAD_INPUT, body -> answered(body, facets));
  }

  /** Also writes the answer to a bad body: that must not fail either, whatever it quotes. */
  private static Call answered(byte[] body, RequestFacets facets) {
    try {
      return CheckRequest.parse(body, facets).call();
    } catch (BadInput e) {
      int length = Replies.problemBytes(HttpStatus.BAD_REQUEST, e.errors()).length;
      assertThat(length).isLessThanOrEqualTo(Replies.LARGEST_PROBLEM);
      throw e;
    }
  }

  @Test
  void bodiesOfSettlements() {
    List<byte[]> samples =
        bytes(
            "{\"receipt\":\"%s\",\"cost\":0}".formatted(RECEIPTS.seal(receipt())),
            "{\"cost\":12,\"receipt\":\"%s\"}".formatted(RECEIPTS.seal(receipt())),
            "{\"receipt\":\"%s\",\"costs\":{\"r\":3}}".formatted(RECEIPTS.seal(receipt())));

    Mutator.feedBytes(
        "SettleRequest.parse", samples, BAD_INPUT, body -> SettleRequest.parse(body, RECEIPTS));
  }

  @Test
  void bodiesOfLocks() {
    List<byte[]> samples =
        bytes(
            "{\"duration\":\"30m\",\"reason\":\"ticket 4711\"}",
            "{\"duration\":\"1w2d3h4m5s6ms7us\",\"reason\":\"<b>\\u2028é\"}");

    Mutator.feedBytes("LockRequest.parse", samples, BAD_INPUT, LockRequest::parse);
  }

  private static Receipt receipt() {
    Account account = new Account("r", Identity.of("login", "Zoë & co", "ip", "::/64"), true);
    Lock lock = new Lock(List.of(Duration.ofMinutes(1), Duration.ofHours(1)), Duration.ofDays(1));
    Terms terms = new Terms(ReceiptsTest.limits().limit(16).toList(), lock, true);
    List<Receipt.Mark> marks = List.of(new Receipt.Mark(1_700_000_000_000_000L, 3));
    return new Receipt(
        "r-1",
        1_700_000_000_000_001L,
        1_700_000_060_000_001L,
        List.of(
            new Receipt.Entry(account, terms, 7, marks, 3, true, true),
            new Receipt.Entry(
                account, Terms.of(Limit.slidingLog(1, Duration.ofDays(1))), 7, marks)),
        "node-1");
  }

  @Test
  void textsOfReceipts() {
    Mutator.feedText(
        "Receipts.open",
        List.of(String.valueOf(RECEIPTS.seal(receipt())), "AQADci0x"),
        List.of(),
        RECEIPTS::open);
  }

  /** Past the seal: what a service of another version, or whoever has the key, may write. */
  @Test
  void contentsOfReceipts() {
    byte[] sealed = Base64.getUrlDecoder().decode(RECEIPTS.seal(receipt()));

    Mutator.feedBytes(
        "ReceiptBytes.read",
        List.of(Arrays.copyOf(sealed, sealed.length - SEAL_BYTES)),
        List.of(),
        ReceiptBytes::read);
  }

  @Test
  void placesInTheListOfLocks() {
    Restriction lock =
        new Restriction(new Account("r", Identity.of("a", "b")), null, Instant.now(), "why");

    Mutator.feedText(
        "LockPage.Place.after",
        List.of(LockPage.Place.of(lock).toString(), LockPage.Place.START.toString()),
        List.of(IllegalArgumentException.class),
        LockPage.Place::after);
  }
}
