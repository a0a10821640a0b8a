/**
 * What nodes decided, for the console: counted on each node, shared as summaries, merged by whoever
 * shows them.
 */
@NullMarked
package dev.sluice.traffic;

import org.jspecify.annotations.NullMarked;
