package dev.sluice.server.api;

import dev.sluice.Receipt;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/** Receipts as opaque text that only the holders of a key can write. Thread-safe. */
public final class Receipts {
  /*
   * Whoever could write a receipt could give back what was never taken. So the text is
   *
   *     base64url( the receipt's bytes | the first 16 bytes of HMAC-SHA256 over them )
   */
  private static final int SEAL_BYTES = 16;

  /** Longer than the receipt of the largest call; a test makes that one. */
  public static final int LONGEST_TEXT = 128 * 1024;

  private final ReceiptKeys keys;
  private final ReceiptBytes form = new ReceiptBytes();
  private volatile Ring ring;

  public Receipts(ReceiptKeys keys) {
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
  public @Nullable String seal(Receipt receipt) {
    if (receipt.entries().isEmpty()) {
      return null;
    }
    byte[] content = form.write(receipt);
    byte[] all = Arrays.copyOf(content, content.length + SEAL_BYTES);
    System.arraycopy(seals().get(0).of(content), 0, all, content.length, SEAL_BYTES);
    return Base64.getUrlEncoder().withoutPadding().encodeToString(all);
  }

  /** The receipt in a text, or nothing if it was not sealed with a key that still holds. */
  public Optional<Receipt> open(String text) {
    if (text.length() > LONGEST_TEXT) {
      return Optional.empty();
    }
    byte[] all;
    try {
      all = Base64.getUrlDecoder().decode(text);
    } catch (IllegalArgumentException e) {
      return Optional.empty();
    }
    if (all.length <= SEAL_BYTES) {
      return Optional.empty();
    }
    byte[] content = Arrays.copyOf(all, all.length - SEAL_BYTES);
    byte[] seal = Arrays.copyOfRange(all, content.length, all.length);
    boolean ours = false;
    for (Seal each : seals()) {
      ours |= MessageDigest.isEqual(seal, each.of(content));
    }
    return ours ? ReceiptBytes.read(content) : Optional.empty();
  }
}
