/** What Sluice is compared with: other limiters and baselines. */
@NullMarked
package dev.sluice.bench.contenders;

import org.jspecify.annotations.NullMarked;
