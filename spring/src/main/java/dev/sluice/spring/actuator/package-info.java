@NullMarked
package dev.sluice.spring.actuator;

import org.jspecify.annotations.NullMarked;
