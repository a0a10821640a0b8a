@NullMarked
package dev.sluice.server.health;

import org.jspecify.annotations.NullMarked;
