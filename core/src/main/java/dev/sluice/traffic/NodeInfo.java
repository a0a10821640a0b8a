package dev.sluice.traffic;

import java.time.Instant;
import java.util.List;

/**
 * A program that decides calls.
 *
 * @param id a random name, another one after each start
 * @param program {@code service}, {@code spring} or {@code library}
 * @param version of Sluice
 * @param since when it started
 * @param rules how many rules are in force on it
 * @param rulesVersion a hash of those rules; empty if it is not known
 * @param rulesFailure why it has refused newer rules; empty if it has not
 * @param trouble why it decides without the store now; empty if it does not
 * @param warnings of its store
 */
public record NodeInfo(
    String id,
    String host,
    long pid,
    String program,
    String version,
    Instant since,
    int rules,
    String rulesVersion,
    String rulesFailure,
    String trouble,
    List<String> warnings) {}
