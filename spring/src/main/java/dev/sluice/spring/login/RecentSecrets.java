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

/** Remembers for a minute that a password was right, or that a cookie was bad. Thread-safe. */
final class RecentSecrets {
  /*
   * Secrets are kept as HMACs, so that no password is in memory. The key is in the same memory, so an
   * attacker with a memory dump can try guesses against the entries. So expired ones are removed with
   * every use. An entry never lets a login in: the password is always checked.
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

  /** The HMAC of a login and its secret. */
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
    since.remove(digest); // so that it becomes the last entry
    since.put(digest, nanos.getAsLong());
  }

  /** The oldest entries come first, so it stops at the first that has not expired. */
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
