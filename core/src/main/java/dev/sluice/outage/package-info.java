/**
 * What a store on a remote server needs to survive outages: circuit breaker, fallback, denial
 * cache.
 */
@NullMarked
package dev.sluice.outage;

import org.jspecify.annotations.NullMarked;
