package dev.sluice.spring.login;

import org.jspecify.annotations.Nullable;
import org.springframework.security.core.AuthenticationException;

/**
 * A login was refused before its password was checked, because of too many failures.
 *
 * <p>Thrown for browsers that send a form, so that the application handles it like any failed
 * login. Other clients are answered with 429.
 */
public final class LoginRefusedException extends AuthenticationException {
  /**
   * The request attribute in which a login page finds the time at which the next login can pass: a
   * {@code Long}, in milliseconds since the epoch. That is the end of the lock, or later if the
   * limit has no room for another try by then.
   */
  public static final String RESTRICTED_UNTIL = "loginRestrictedUntil";

  private static final long serialVersionUID = 1L;

  private final @Nullable Long restrictedUntil;

  LoginRefusedException(String message, @Nullable Long restrictedUntil) {
    super(message);
    this.restrictedUntil = restrictedUntil;
  }

  /** When the next login can pass, in milliseconds since the epoch; null if it is not known. */
  public @Nullable Long restrictedUntil() {
    return restrictedUntil;
  }
}
