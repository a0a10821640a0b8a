@NullMarked
package dev.sluice.outage;

import org.jspecify.annotations.NullMarked;
