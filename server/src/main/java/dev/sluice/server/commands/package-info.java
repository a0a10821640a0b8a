@NullMarked
package dev.sluice.server.commands;

import org.jspecify.annotations.NullMarked;
