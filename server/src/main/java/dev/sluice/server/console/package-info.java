/** The console in the browser: pages, sessions, and the JSON that the pages read. */
@NullMarked
package dev.sluice.server.console;

import org.jspecify.annotations.NullMarked;
