@NullMarked
package dev.sluice.spring.testing;

import org.jspecify.annotations.NullMarked;
