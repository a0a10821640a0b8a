/** Sluice measured against its peers, in one run. */
@NullMarked
package dev.sluice.bench;

import org.jspecify.annotations.NullMarked;
