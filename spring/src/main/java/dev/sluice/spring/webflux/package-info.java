@NullMarked
package dev.sluice.spring.webflux;

import org.jspecify.annotations.NullMarked;
