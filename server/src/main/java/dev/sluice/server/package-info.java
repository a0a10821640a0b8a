/** The service and the command line. */
@NullMarked
package dev.sluice.server;

import org.jspecify.annotations.NullMarked;
