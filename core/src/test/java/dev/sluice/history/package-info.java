/** Random histories of calls, and a slow and plain model that says what each must answer. */
@NullMarked
package dev.sluice.history;

import org.jspecify.annotations.NullMarked;
