@NullMarked
package dev.sluice.internal;

import org.jspecify.annotations.NullMarked;
