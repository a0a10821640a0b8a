@NullMarked
package dev.sluice.spring.call;

import org.jspecify.annotations.NullMarked;
