/**
 * The actuator endpoint, health and meters.
 *
 * <p>Not API: {@code SluiceEndpoint} is public for the actuator, the auto-configuration for Spring
 * Boot.
 */
@NullMarked
package dev.sluice.spring.actuator;

import org.jspecify.annotations.NullMarked;
