@NullMarked
package dev.sluice.redis.wire;

import org.jspecify.annotations.NullMarked;
