/** The suites: what is measured, one class for each, and how much of it. */
@NullMarked
package dev.sluice.bench.suites;

import org.jspecify.annotations.NullMarked;
