package dev.sluice.bench;

/** What one Redis, or several together, have used so far. */
interface Usage {
  /** The CPU time of the processes, user and system together. */
  double cpuMicros();

  /** How often commands whose names begin so were run, those inside scripts included. */
  long calls(String prefix);

  /** How often a script or a function was called. */
  default long scriptCalls() {
    return calls("eval") + calls("fcall");
  }
}
