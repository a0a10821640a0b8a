package dev.sluice.traffic;

import java.time.Duration;
import java.time.Instant;

/**
 * The points of a chart of decisions per second, oldest first; NaN where nothing is known.
 *
 * @param from when the first step begins
 */
@SuppressWarnings("ArrayRecordComponent") // read once, to be written as JSON
public record Points(
    Instant from,
    Duration step,
    float[] allowed,
    float[] denied,
    float[] unmetered,
    float[] shadowDenied) {}
