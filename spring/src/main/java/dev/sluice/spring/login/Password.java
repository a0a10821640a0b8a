package dev.sluice.spring.login;

import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.springframework.security.authentication.AuthenticationServiceException;
import org.springframework.security.authentication.CredentialsExpiredException;
import org.springframework.security.authentication.ProviderNotFoundException;
import org.springframework.security.authentication.UsernamePasswordAuthenticationToken;
import org.springframework.security.core.Authentication;

/** Recognizes logins by name and password, and ends a try by its outcome. */
final class Password {
  private Password() {}

  /** Whether this is a name and a password that have not been checked yet. */
  static boolean isIn(Authentication login) {
    return login instanceof UsernamePasswordAuthenticationToken && !login.isAuthenticated();
  }

  static @Nullable String of(Authentication login) {
    Object password = login.getCredentials();
    return password == null ? null : password.toString();
  }

  /**
   * Ends a try by the outcome of the login. Returns when the caller can log in again, if this try
   * began a lock.
   *
   * @param done what the manager returned, or null
   * @param error what the manager threw, or null
   */
  static CompletionStage<Optional<Instant>> end(
      LoginGuard.Try attempt,
      Object manager,
      Authentication login,
      @Nullable Authentication done,
      @Nullable Throwable error) {
    if (done != null && done.isAuthenticated()) {
      return attempt.succeeded(done.getName()).thenApply(settled -> Optional.empty());
    }
    if (error != null && isGivenBack(error, manager, login)) {
      return attempt.undone().thenApply(settled -> Optional.empty());
    }
    return attempt.failed();
  }

  /**
   * Whether an exception is not a failed login: the password was certainly not checked, or it was
   * right and has expired. Every other exception counts; otherwise guesses would be free while
   * something is broken. A locked or disabled account counts, too, because the answer reveals it.
   */
  private static boolean isGivenBack(Throwable error, Object manager, Authentication login) {
    if (error instanceof AuthenticationServiceException) {
      // With several providers, another may have rejected the password before this one failed.
      return Checkers.count(manager, login) <= 1;
    }
    if (error instanceof ProviderNotFoundException) {
      return Checkers.count(manager, login) == 0; // also thrown if all providers returned null
    }
    return error instanceof CredentialsExpiredException;
  }
}
