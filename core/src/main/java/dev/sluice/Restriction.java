package dev.sluice;

import java.time.Instant;

/**
 * A lock in force.
 *
 * @param reason why: the limit that was overdrawn, or what the person who set it wrote
 */
public record Restriction(Account account, Instant until, String reason) {}
