@NullMarked
package dev.sluice.metrics;

import org.jspecify.annotations.NullMarked;
