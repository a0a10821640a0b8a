package dev.sluice.spring.call;

import java.security.Principal;
import org.jspecify.annotations.Nullable;
import org.springframework.security.core.Authentication;
import org.springframework.security.oauth2.core.ClaimAccessor;
import org.springframework.security.oauth2.core.OAuth2AuthenticatedPrincipal;
import org.springframework.util.ClassUtils;

/** Claims of the token that Spring Security verified; null without its OAuth 2 support. */
final class Claims {
  private static final boolean PRESENT =
      ClassUtils.isPresent(
          "org.springframework.security.oauth2.core.ClaimAccessor", Claims.class.getClassLoader());

  private Claims() {}

  /** The text of a claim; a list or an object is an error, because it is no single value. */
  static @Nullable String of(Principal user, String name) {
    return Scalars.text("claim '" + name + "'", PRESENT ? OAuth2.claim(user, name) : null);
  }

  /** Loaded only if Spring Security's OAuth 2 classes are present. */
  private static final class OAuth2 {
    static @Nullable Object claim(Principal user, String name) {
      Object principal = user instanceof Authentication known ? known.getPrincipal() : user;
      if (principal instanceof ClaimAccessor token) {
        return token.getClaims().get(name);
      }
      return principal instanceof OAuth2AuthenticatedPrincipal known
          ? known.getAttributes().get(name)
          : null;
    }
  }
}
