package dev.sluice.store;

import dev.sluice.Intent;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * A call with an id, as stores remember it: digests in hexadecimal, whatever the caller chose.
 *
 * @param call of the caller and the id: the same id of another caller is another call
 * @param question of the rules, costs and intent: an id that comes again with another is an error
 * @param charges of the accounts and terms: after a change of rules an old answer no longer fits
 */
public record CallName(String call, String question, String charges) {
  private static final int CALL_BYTES = 12;
  private static final int OTHER_BYTES = 8;

  /** How many characters of {@link #receiptId()} name the call. */
  public static final int CALL_DIGITS = 2 * CALL_BYTES;

  /** The length of {@link #receiptId()}; the receipts of calls without an id have shorter ones. */
  public static final int RECEIPT_ID_LENGTH = 2 * (CALL_BYTES + OTHER_BYTES);

  /** The name of a plan's call, or null if it has no id or only looks. */
  public static @Nullable CallName of(Plan plan) {
    if (plan.id() == null || plan.intent() == Intent.PEEK) {
      return null;
    }
    StringBuilder charges = new StringBuilder();
    for (Charge charge : plan.charges()) {
      charges.append(charge.account()).append('\n').append(charge.terms()).append('\n');
    }
    // The text of an identity holds no line break, so no two pairs are joined to one text.
    return new CallName(
        digest(plan.caller() + "\n" + plan.id(), CALL_BYTES),
        digest(plan.question(), OTHER_BYTES),
        digest(charges.toString(), OTHER_BYTES));
  }

  /** The id of its receipts: the same however often the call is sent, and whichever part it is. */
  public String receiptId() {
    return call + question;
  }

  /** A name for what a call without an id took. */
  public static String madeId() {
    return Long.toString(ThreadLocalRandom.current().nextLong(Long.MAX_VALUE), Character.MAX_RADIX);
  }

  private static String digest(String text, int bytes) {
    try {
      byte[] digest =
          MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(digest, 0, bytes);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JVM has SHA-256", e);
    }
  }
}
