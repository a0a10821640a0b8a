package dev.sluice.server.console;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/** Sessions that the store has confirmed lately, by hash. Thread-safe. */
final class SeenSessions {
  /*
   * While the store does not answer, operators need the console most. So a session that was good a
   * moment ago may go on reading. One that was ended on this node stays here as ended: an answer of
   * the store that was under way must not bring it back. Hashes of sessions are never used twice.
   */
  static final int MOST = 1_000;
  static final Duration LENGTH = Duration.ofMinutes(30);

  private static final String ENDED = "";

  private final InstantSource clock;
  private final Map<String, Seen> byHash = new LinkedHashMap<>();

  /** What the store said of a session, and when. */
  private record Seen(String kept, Instant at) {}

  SeenSessions(InstantSource clock) {
    this.clock = clock;
  }

  /** Remembers what the store has for a session; empty if the session is over. */
  synchronized void note(String hash, Optional<String> kept) {
    Seen before = byHash.get(hash);
    if (before != null && before.kept.equals(ENDED)) {
      return;
    }
    byHash.remove(hash); // so that it is the newest when it is put
    kept.ifPresent(text -> put(hash, text));
  }

  /** Forgets a session that was ended here. */
  synchronized void end(String hash) {
    byHash.remove(hash);
    put(hash, ENDED);
  }

  private void put(String hash, String kept) {
    byHash.put(hash, new Seen(kept, clock.instant()));
    if (byHash.size() > MOST) {
      byHash.remove(byHash.keySet().iterator().next());
    }
  }

  /** Whether a session was ended here. The store may still have it, if it did not answer then. */
  synchronized boolean isEnded(String hash) {
    Seen known = byHash.get(hash);
    return known != null && known.kept.equals(ENDED);
  }

  /** What the store had for a session a short time ago. */
  synchronized Optional<String> find(String hash) {
    return Optional.ofNullable(byHash.get(hash))
        .filter(seen -> !seen.kept.equals(ENDED))
        .filter(seen -> clock.instant().isBefore(seen.at.plus(LENGTH)))
        .map(Seen::kept);
  }
}
