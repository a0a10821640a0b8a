/** The words of rate limiting, the rules, and the way a call becomes a decision. */
@NullMarked
package dev.sluice;

import org.jspecify.annotations.NullMarked;
