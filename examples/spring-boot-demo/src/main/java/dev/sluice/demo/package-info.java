/** A small shop that shows Sluice in Spring Boot. */
@NullMarked
package dev.sluice.demo;

import org.jspecify.annotations.NullMarked;
