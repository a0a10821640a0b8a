/** What every store must do, written as tests that a store's own test extends. */
@NullMarked
package dev.sluice.contract;

import org.jspecify.annotations.NullMarked;
