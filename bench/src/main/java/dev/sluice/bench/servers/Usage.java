package dev.sluice.bench.servers;

/** What one Redis, or several together, have used since they started. */
public interface Usage {
  /** The CPU time of the processes, user and system together. */
  double cpuMicros();

  /** How often commands with this prefix were run, including those in scripts. */
  long calls(String prefix);

  /** How often a script or a function was called. */
  default long scriptCalls() {
    return calls("eval") + calls("fcall");
  }
}
