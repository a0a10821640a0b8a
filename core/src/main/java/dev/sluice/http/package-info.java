/** The parts of an HTTP edge that need no server: answers to a decision, and who asks. */
@NullMarked
package dev.sluice.http;

import org.jspecify.annotations.NullMarked;
