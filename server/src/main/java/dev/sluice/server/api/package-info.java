@NullMarked
package dev.sluice.server.api;

import org.jspecify.annotations.NullMarked;
