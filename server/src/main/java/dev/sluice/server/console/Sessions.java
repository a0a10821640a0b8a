package dev.sluice.server.console;

import com.linecorp.armeria.common.Cookie;
import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.RequestHeaders;
import dev.sluice.server.admin.AdminToken;
import dev.sluice.server.admin.Operator;
import dev.sluice.server.admin.Operators;
import dev.sluice.store.SharedData;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.HexFormat;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;

/** The sessions of operators in their browsers. Thread-safe. */
final class Sessions {
  /*
   * A session is a random text in a cookie. The shared data has its hash, and with it the hash of
   * the token that the operator signed in with, and when the session ends. So a session works on
   * every service of a store, and it is over when the token is no longer one of an operator.
   *
   * If the store does not answer, requests that only read may go on for some minutes with a session
   * that this process has seen to be good.
   */
  static final Duration LENGTH = Duration.ofHours(8);

  private static final String PREFIX = "session:";
  private static final String NAME = "sluice-session";
  private static final String SECURE_NAME = "__Host-" + NAME;
  private static final int DIGITS = 64;

  /** How long a request waits for the store if the session is known here. */
  private static final Duration PATIENCE = Duration.ofSeconds(1);

  private final SharedData data;
  private final Operators operators;
  private final InstantSource clock;
  private final SeenSessions seen;

  /**
   * Sessions in the shared data of a store.
   *
   * @param clock says when they end
   */
  Sessions(SharedData data, Operators operators, InstantSource clock) {
    this.data = data;
    this.operators = operators;
    this.clock = clock;
    this.seen = new SeenSessions(clock);
  }

  /** What the store keeps of a session. */
  private record Kept(String tokenSha256, Instant end) {
    static Optional<Kept> read(String text) {
      String[] words = text.split(" ", -1);
      return words.length == 2 && words[1].matches("\\d{1,15}")
          ? Optional.of(new Kept(words[0], Instant.ofEpochMilli(Long.parseLong(words[1]))))
          : Optional.empty();
    }

    @Override
    public String toString() {
      return tokenSha256 + ' ' + end.toEpochMilli();
    }
  }

  /** Begins a session of the operator with this token. Returns the text for the cookie. */
  CompletionStage<String> begin(String token) {
    byte[] random = new byte[DIGITS / 2];
    new SecureRandom().nextBytes(random);
    String session = HexFormat.of().formatHex(random);
    String hash = AdminToken.sha256(session);
    String kept = new Kept(AdminToken.sha256(token), clock.instant().plus(LENGTH)).toString();
    return data.put(PREFIX + hash, kept, LENGTH)
        .thenApply(
            done -> {
              seen.note(hash, Optional.of(kept));
              return session;
            });
  }

  /** The operator whose session a request shows; empty if there is none. */
  CompletionStage<Optional<Operator>> operator(RequestHeaders headers) {
    return operatorOf(kept(headers));
  }

  /** Like {@link #operator}; if the store does not answer, by what it said a short time ago. */
  CompletionStage<Optional<Operator>> reader(RequestHeaders headers) {
    return operatorOf(keptOrSeen(headers));
  }

  private CompletionStage<Optional<Operator>> operatorOf(CompletionStage<Optional<Kept>> kept) {
    return kept.thenApply(
        found -> found.flatMap(session -> operators.withSha256(session.tokenSha256)));
  }

  /** When the session that a request shows ends. */
  CompletionStage<Optional<Instant>> end(RequestHeaders headers) {
    return keptOrSeen(headers).thenApply(kept -> kept.map(Kept::end));
  }

  private CompletionStage<Optional<Kept>> kept(RequestHeaders headers) {
    return shown(headers)
        .filter(hash -> !seen.isEnded(hash))
        .map(this::ask)
        .orElse(CompletableFuture.completedFuture(Optional.empty()))
        .thenApply(this::going);
  }

  private CompletableFuture<Optional<String>> ask(String hash) {
    return data.get(PREFIX + hash)
        .thenApply(
            kept -> {
              seen.note(hash, kept);
              return kept;
            })
        .toCompletableFuture();
  }

  private CompletionStage<Optional<Kept>> keptOrSeen(RequestHeaders headers) {
    Optional<String> hash = shown(headers);
    Optional<String> known = hash.flatMap(seen::find);
    if (known.isEmpty()) {
      return kept(headers);
    }
    return ask(hash.orElseThrow())
        .orTimeout(PATIENCE.toMillis(), TimeUnit.MILLISECONDS)
        .exceptionally(noAnswer -> known)
        .thenApply(this::going);
  }

  private Optional<Kept> going(Optional<String> kept) {
    return kept.flatMap(Kept::read).filter(session -> clock.instant().isBefore(session.end));
  }

  /** Ends the session that a request shows. */
  CompletionStage<Boolean> remove(RequestHeaders headers) {
    Optional<String> hash = shown(headers);
    hash.ifPresent(seen::end);
    return hash.<CompletionStage<Boolean>>map(ended -> data.remove(PREFIX + ended))
        .orElse(CompletableFuture.completedFuture(false));
  }

  /**
   * The hash of the session in a cookie. A name with {@code __Host-} can only have been set over
   * TLS by this host, so it counts more than the other.
   */
  private static Optional<String> shown(RequestHeaders headers) {
    if (!headers.contains(HttpHeaderNames.COOKIE)) {
      return Optional.empty();
    }
    return value(headers, SECURE_NAME).or(() -> value(headers, NAME)).map(AdminToken::sha256);
  }

  private static Optional<String> value(RequestHeaders headers, String name) {
    return headers.cookies().stream()
        .filter(cookie -> cookie.name().equals(name))
        .map(Cookie::value)
        .filter(value -> value.matches("[0-9a-f]{" + DIGITS + "}"))
        .findFirst();
  }

  /** The cookie of a session; an empty text ends it. */
  static String cookie(String session, boolean secure) {
    return Cookie.secureBuilder(secure ? SECURE_NAME : NAME, session)
        .secure(secure)
        .httpOnly(true)
        .sameSite("Strict")
        .path("/")
        .maxAge(session.isEmpty() ? 0 : LENGTH.toSeconds())
        .build()
        .toSetCookieHeader();
  }
}
