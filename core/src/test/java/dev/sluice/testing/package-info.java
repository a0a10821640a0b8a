/** What the tests of every module share. */
@NullMarked
package dev.sluice.testing;

import org.jspecify.annotations.NullMarked;
