/** Rate limits in Spring Boot: annotation, filters, actuator. */
@NullMarked
package dev.sluice.spring;

import org.jspecify.annotations.NullMarked;
