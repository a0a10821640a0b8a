/** Rule files: parsing, error messages and descriptions. */
@NullMarked
package dev.sluice.rules;

import org.jspecify.annotations.NullMarked;
