package dev.sluice.store;

import dev.sluice.Intent;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * How stores remember a call with an id: by digests in hexadecimal, which are safe whatever id the
 * caller chose.
 *
 * @param call digest of the caller and the id: the same id of another caller is another call
 * @param question digest of the rules, costs and intent: if it differs, the id was reused, which is
 *     an error
 * @param charges digest of the accounts and terms: if it differs, the rules have changed and the
 *     old answer no longer fits
 */
public record CallName(String call, String question, String charges) {
  private static final int CALL_BYTES = 12;
  private static final int OTHER_BYTES = 8;

  /** How many characters of {@link #receiptId()} identify the call. */
  public static final int CALL_DIGITS = 2 * CALL_BYTES;

  /** The length of {@link #receiptId()}. Receipts of calls without an id have shorter ids. */
  public static final int RECEIPT_ID_LENGTH = 2 * (CALL_BYTES + OTHER_BYTES);

  /** The name of the call of a plan, or null if it has no id or only peeks. */
  public static @Nullable CallName of(Plan plan) {
    if (plan.id() == null || plan.intent() == Intent.PEEK) {
      return null;
    }
    StringBuilder charges = new StringBuilder();
    for (Charge charge : plan.charges()) {
      charges.append(charge.account()).append('\n').append(charge.terms()).append('\n');
    }
    // An identity contains no line break, so different pairs give different texts.
    return new CallName(
        digest(plan.caller() + "\n" + plan.id(), CALL_BYTES),
        digest(plan.question(), OTHER_BYTES),
        digest(charges.toString(), OTHER_BYTES));
  }

  /** The id of its receipts. It is the same for every resend and for every part of the call. */
  public String receiptId() {
    return call + question;
  }

  /** A new receipt id for a call without an id. */
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
