package dev.sluice;

/**
 * One debit of one account.
 *
 * @param enforced false for a rule in shadow mode: counted and reported, never in the way
 */
public record Charge(Account account, Terms terms, long cost, boolean enforced) {}
