/** Random histories of calls, and a slow but simple model that knows the right answers. */
@NullMarked
package dev.sluice.history;

import org.jspecify.annotations.NullMarked;
