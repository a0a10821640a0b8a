/** The protocol between Sluice and its Lua library in Redis: keys, encoding, batches, replies. */
@NullMarked
package dev.sluice.redis.wire;

import org.jspecify.annotations.NullMarked;
