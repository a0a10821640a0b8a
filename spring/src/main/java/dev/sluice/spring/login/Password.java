package dev.sluice.spring.login;

import org.jspecify.annotations.Nullable;
import org.springframework.security.authentication.AuthenticationServiceException;
import org.springframework.security.authentication.CredentialsExpiredException;
import org.springframework.security.authentication.ProviderNotFoundException;
import org.springframework.security.authentication.UsernamePasswordAuthenticationToken;
import org.springframework.security.core.Authentication;

/** What a login by name and password is, and which of its ends are failures. */
final class Password {
  private Password() {}

  /** Whether this is a name and a password that are still to be checked. */
  static boolean isIn(Authentication login) {
    return login instanceof UsernamePasswordAuthenticationToken && !login.isAuthenticated();
  }

  static @Nullable String of(Authentication login) {
    Object password = login.getCredentials();
    return password == null ? null : password.toString();
  }

  /** Whether somebody is signed in now. No answer is none. */
  static boolean isRight(@Nullable Authentication done) {
    return done != null && done.isAuthenticated();
  }

  /**
   * Whether a try that ended with an exception is no failure: its password was certainly not
   * checked, or it was right and has expired. Whatever else is thrown counts, or guesses would be
   * free as long as something is broken. A locked or disabled account counts, too: who tries it
   * learns that it is there.
   */
  static boolean isGivenBack(Throwable error, Object manager, Authentication login) {
    if (error instanceof AuthenticationServiceException) {
      // Of several, another may have said that it is wrong before this one was found to be away.
      return Checkers.count(manager, login) <= 1;
    }
    if (error instanceof ProviderNotFoundException) {
      return Checkers.count(manager, login) == 0; // also thrown if those who were asked kept silent
    }
    return error instanceof CredentialsExpiredException;
  }
}
