package dev.sluice.bench.load;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** How much of the processors other programs use, while the bench and its servers run. */
public final class OtherLoad {
  /*
   * Linux counts in hundredths of a second how long each processor was busy (/proc/stat), and how
   * long this process and its ended children were (/proc/self/stat). What is left after those and
   * the children that still run is the work of others, also of other guests on the same host
   * ("steal"). Elsewhere nothing is known, and the answer is 0.
   */
  private static final Path ALL = Path.of("/proc/stat");
  private static final Path OURS = Path.of("/proc/self/stat");
  private static final Path ALLOWED = Path.of("/proc/self/status");
  private static final Pattern RANGE = Pattern.compile("(\\d+)(?:-(\\d+))?");
  private static final int MILLIS_A_TICK = 10;

  private final Ticks start = Ticks.now();

  /** Ticks of the processors that we may use: all, idle ones, and those of us. */
  record Ticks(long all, long idle, long ours) {
    static Ticks now() {
      try {
        return of(Files.readString(ALL), allowed(Files.readString(ALLOWED)), oursNow());
      } catch (IOException e) {
        return new Ticks(0, 0, 0);
      }
    }

    static Ticks of(String stat, BitSet processors, long ours) {
      long all = 0;
      long idle = 0;
      for (String line : stat.lines().toList()) {
        String[] words = line.split(" +", -1);
        if (line.matches("cpu\\d.*") && processors.get(Integer.parseInt(words[0].substring(3)))) {
          // user, nice, system, idle, iowait, irq, softirq, steal; guests are part of user
          for (int i = 1; i <= 8; i++) {
            all += Long.parseLong(words[i]);
          }
          idle += Long.parseLong(words[4]) + Long.parseLong(words[5]);
        }
      }
      return new Ticks(all, idle, ours);
    }

    /** The part of the time between that others used. */
    double othersSince(Ticks start) {
      long passed = all - start.all;
      long busy = passed - (idle - start.idle);
      return passed == 0 ? 0 : Math.max(0, busy - (ours - start.ours)) / (double) passed;
    }
  }

  private OtherLoad() {}

  public static OtherLoad measure() {
    return new OtherLoad();
  }

  /** The part of the processors that others have used since the start, 0 to 1. */
  public double share() {
    return Ticks.now().othersSince(start);
  }

  /** The processors in {@code Cpus_allowed_list}, such as {@code 0-1,4}. */
  static BitSet allowed(String status) {
    BitSet processors = new BitSet();
    status
        .lines()
        .filter(line -> line.startsWith("Cpus_allowed_list:"))
        .forEach(
            line -> {
              for (Matcher range = RANGE.matcher(line); range.find(); ) {
                String last = range.group(2) == null ? range.group(1) : range.group(2);
                processors.set(Integer.parseInt(range.group(1)), Integer.parseInt(last) + 1);
              }
            });
    return processors;
  }

  private static long oursNow() throws IOException {
    String stat = Files.readString(OURS);
    // The name, in brackets, may contain anything. Then: state, …; from the 12th on: user and
    // system
    // time of the process, and of its children that have ended.
    List<String> words = List.of(stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1));
    long ticks = words.subList(11, 15).stream().mapToLong(Long::parseLong).sum();
    return ticks
        + ProcessHandle.current()
            .descendants()
            .mapToLong(
                child ->
                    child.info().totalCpuDuration().map(time -> time.toMillis()).orElse(0L)
                        / MILLIS_A_TICK)
            .sum();
  }
}
