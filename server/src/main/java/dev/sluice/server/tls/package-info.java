@NullMarked
package dev.sluice.server.tls;

import org.jspecify.annotations.NullMarked;
