/** The names and tags of the metrics, for whichever metrics library an application uses. */
@NullMarked
package dev.sluice.metrics;

import org.jspecify.annotations.NullMarked;
