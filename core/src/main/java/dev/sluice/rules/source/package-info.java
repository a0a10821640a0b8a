/**
 * Sources of rules that change at run time: a file, a backend that is polled, layers of sources.
 */
@NullMarked
package dev.sluice.rules.source;

import org.jspecify.annotations.NullMarked;
