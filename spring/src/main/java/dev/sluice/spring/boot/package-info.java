/**
 * Auto-configuration, settings, and the checks at the start.
 *
 * <p>Not API: {@code StartCheck} is public for the package {@code actuator}, {@code StoreSettings}
 * for tests, the auto-configurations for Spring Boot.
 */
@NullMarked
package dev.sluice.spring.boot;

import org.jspecify.annotations.NullMarked;
