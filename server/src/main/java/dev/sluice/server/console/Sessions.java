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
import java.util.HexFormat;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** The sessions of operators in their browsers. Thread-safe. */
final class Sessions {
  /*
   * A session is a random text in a cookie. The shared data has its hash, and with it the hash of
   * the token that the operator signed in with, and when the session ends. So a session works on
   * every service of a store, and it is over when the token is no longer one of an operator.
   */
  static final Duration LENGTH = Duration.ofHours(8);

  private static final String PREFIX = "session:";
  private static final String NAME = "sluice-session";
  private static final String SECURE_NAME = "__Host-" + NAME;
  private static final int DIGITS = 64;

  private final SharedData data;
  private final Operators operators;

  Sessions(SharedData data, Operators operators) {
    this.data = data;
    this.operators = operators;
  }

  /** Begins a session of the operator with this token. Returns the text for the cookie. */
  CompletionStage<String> begin(String token) {
    byte[] random = new byte[DIGITS / 2];
    new SecureRandom().nextBytes(random);
    String session = HexFormat.of().formatHex(random);
    String kept = AdminToken.sha256(token) + ' ' + Instant.now().plus(LENGTH).toEpochMilli();
    return data.put(PREFIX + AdminToken.sha256(session), kept, LENGTH).thenApply(done -> session);
  }

  /** The operator whose session a request shows; empty if there is none. */
  CompletionStage<Optional<Operator>> operator(RequestHeaders headers) {
    return kept(headers)
        .thenApply(kept -> kept.flatMap(words -> operators.withSha256(words.split(" ", 2)[0])));
  }

  /** When the session that a request shows ends. */
  CompletionStage<Optional<Instant>> end(RequestHeaders headers) {
    return kept(headers)
        .thenApply(
            kept ->
                kept.map(words -> Instant.ofEpochMilli(Long.parseLong(words.split(" ", 2)[1]))));
  }

  private CompletionStage<Optional<String>> kept(RequestHeaders headers) {
    return shown(headers)
        .map(session -> data.get(PREFIX + AdminToken.sha256(session)))
        .orElse(CompletableFuture.completedFuture(Optional.empty()));
  }

  /** Ends the session that a request shows. */
  CompletionStage<Boolean> remove(RequestHeaders headers) {
    return shown(headers)
        .<CompletionStage<Boolean>>map(session -> data.remove(PREFIX + AdminToken.sha256(session)))
        .orElse(CompletableFuture.completedFuture(false));
  }

  /**
   * The session in a cookie. A name with {@code __Host-} can only have been set over TLS by this
   * host, so it counts more than the other.
   */
  private static Optional<String> shown(RequestHeaders headers) {
    if (!headers.contains(HttpHeaderNames.COOKIE)) {
      return Optional.empty();
    }
    return value(headers, SECURE_NAME).or(() -> value(headers, NAME));
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
