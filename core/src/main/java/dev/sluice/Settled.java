package dev.sluice;

/**
 * The answer to a settlement.
 *
 * @param done false if the receipt was settled before, or there is nothing left of what was taken;
 *     then nothing happened
 * @param uncharged how much of a higher cost could not be charged, because a limit can be no
 *     further used
 */
public record Settled(boolean done, long uncharged) {}
