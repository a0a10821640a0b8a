@NullMarked
package dev.sluice.rules.source;

import org.jspecify.annotations.NullMarked;
