@NullMarked
package dev.sluice.store;

import org.jspecify.annotations.NullMarked;
