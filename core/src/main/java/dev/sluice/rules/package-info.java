/** Rule files that people can read, and sources that follow them while they change. */
@NullMarked
package dev.sluice.rules;

import org.jspecify.annotations.NullMarked;
