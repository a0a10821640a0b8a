/** The login guard in Spring Security; see docs/guides/protecting-a-login.md. */
@NullMarked
package dev.sluice.spring.login;

import org.jspecify.annotations.NullMarked;
