/** What a store implements and works with: plans of charges in, verdicts out. */
@NullMarked
package dev.sluice.store;

import org.jspecify.annotations.NullMarked;
