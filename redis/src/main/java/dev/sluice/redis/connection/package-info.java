@NullMarked
package dev.sluice.redis.connection;

import org.jspecify.annotations.NullMarked;
