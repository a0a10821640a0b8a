/**
 * The login guard in Spring Security; see docs/guides/protecting-a-login.md.
 *
 * <p>API is {@code LoginRefusedException}. Not API: {@code LoginGuard}, which is public for the
 * package {@code boot}; the auto-configuration and {@code ServletLoginConfigurer}, which are public
 * for Spring.
 */
@NullMarked
package dev.sluice.spring.login;

import org.jspecify.annotations.NullMarked;
