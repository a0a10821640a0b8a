/** The figures, and how they are shown: text, tables, charts. */
@NullMarked
package dev.sluice.bench.report;

import org.jspecify.annotations.NullMarked;
