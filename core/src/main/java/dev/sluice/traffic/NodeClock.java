package dev.sluice.traffic;

import java.time.Duration;
import java.time.Instant;

/** Turns the times of a node into times of the collector. Used under the monitor of its owner. */
final class NodeClock {
  /*
   * A summary is read some time after it was made, at most the interval of the collector later. The
   * least delay seen is taken for the difference of both clocks. So the times between summaries
   * stay as long as they were on the node, however irregularly the collector reads.
   *
   * A summary that seems to be older than summaries are kept was made by a clock that has stepped
   * back. Then the difference is measured anew.
   */
  private Duration ahead;
  private Instant until;

  NodeClock(Instant made, Instant read) {
    this.ahead = Duration.between(made, read);
    this.until = read;
  }

  /** Takes in the next summary. */
  void next(Instant made, Instant read) {
    Duration delay = Duration.between(made, read);
    boolean steppedBack = delay.compareTo(ahead.plus(Reporter.TTL)) > 0;
    if (steppedBack || delay.compareTo(ahead) < 0) {
      ahead = delay;
    }
    Instant end = made.plus(ahead);
    until = end.isAfter(until) ? end : until;
  }

  /** When the latest summary was made, by the clock of the collector. It never goes back. */
  Instant until() {
    return until;
  }
}
