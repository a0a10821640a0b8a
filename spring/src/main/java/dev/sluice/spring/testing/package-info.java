/** For the tests of applications: a store of their own and a clock to set. */
@NullMarked
package dev.sluice.spring.testing;

import org.jspecify.annotations.NullMarked;
