package dev.sluice.spring.login;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.LongSupplier;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Remembers for a short time that a login had a right password, or a cookie was bad. Thread-safe.
 */
public final class RecentSecrets {
  /*
   * Kept as an HMAC, so that no password stands in memory. The key is in the same memory: whoever has a
   * dump of it can try guesses against the entries, so old ones are removed as soon as one is met.
   * Whether a secret is remembered never decides whether somebody gets in: it is checked all the same.
   */
  private static final String HMAC = "HmacSHA256";
  private static final int MOST = 10_000;
  private static final long REMEMBERED_NANOS = Duration.ofMinutes(1).toNanos();

  private final SecretKeySpec key;
  private final LongSupplier nanos;
  private final Map<ByteBuffer, Long> since =
      new LinkedHashMap<>() {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<ByteBuffer, Long> eldest) {
          return size() > MOST;
        }
      };

  RecentSecrets(LongSupplier nanos) {
    this.nanos = nanos;
    byte[] random = new byte[32];
    new SecureRandom().nextBytes(random);
    this.key = new SecretKeySpec(random, HMAC);
  }

  /** The name under which a login with its secret is remembered. */
  ByteBuffer digest(String login, String secret) {
    try {
      Mac mac = Mac.getInstance(HMAC);
      mac.init(key);
      mac.update(login.getBytes(StandardCharsets.UTF_8));
      mac.update((byte) 0); // a login has no control characters
      return ByteBuffer.wrap(mac.doFinal(secret.getBytes(StandardCharsets.UTF_8)));
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every JVM has " + HMAC, e);
    }
  }

  synchronized boolean contains(ByteBuffer digest) {
    removeExpired();
    return since.containsKey(digest);
  }

  synchronized void add(ByteBuffer digest) {
    removeExpired();
    since.remove(digest); // so that it is the youngest
    since.put(digest, nanos.getAsLong());
  }

  /** The eldest come first, so it stops at the first that is young enough. */
  private void removeExpired() {
    long now = nanos.getAsLong();
    Iterator<Long> times = since.values().iterator();
    while (times.hasNext() && now - times.next() >= REMEMBERED_NANOS) {
      times.remove();
    }
  }

  synchronized int size() {
    return since.size();
  }

  synchronized void remove(ByteBuffer digest) {
    since.remove(digest);
  }
}
