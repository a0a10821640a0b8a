@NullMarked
package dev.sluice.spring.boot;

import org.jspecify.annotations.NullMarked;
