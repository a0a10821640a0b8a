package dev.sluice.redis.prove;

import dev.sluice.redis.prove.Entry.Outcome;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;

/** What a run found, for a person and as an exit code. */
record Report(long seed, List<Part> parts) {
  private static final int MOST_SHOWN = 20;

  /** Minutes and seconds, such as 2:07. */
  static String clock(Duration time) {
    return "%2d:%02d".formatted(time.toMinutes(), time.toSecondsPart());
  }

  int exitCode() {
    if (parts.stream().anyMatch(part -> !part.audit().violations().isEmpty())) {
      return 1;
    }
    return parts.stream().anyMatch(part -> !part.strange().isEmpty()) ? 3 : 0;
  }

  String text() {
    StringBuilder text = new StringBuilder("\n==== What the run found ====\n");
    parts.forEach(part -> append(part, text));
    long decisions = parts.stream().mapToLong(Report::decisions).sum();
    Duration took = parts.stream().map(Part::took).reduce(Duration.ZERO, Duration::plus);
    long broken = parts.stream().mapToLong(part -> part.audit().violations().size()).sum();
    text.append(
        """

        No answer of Redis was lost by a failover here: writes were held back until the replica had
        them, or the node came back with its append-only file. In life Redis replicates
        asynchronously: what a master did not pass on before it died may be admitted once more.

        %,d decisions in %s, seed %d: %s
        """
            .formatted(
                decisions,
                clock(took).strip(),
                seed,
                switch (exitCode()) {
                  case 0 -> "none over its bound, no promise broken.";
                  case 1 -> "%,d PROMISES BROKEN, see above.".formatted(broken);
                  default -> "no promise broken, but the run was not as it should be, see above.";
                }));
    return text.toString();
  }

  private static long decisions(Part part) {
    long sum = 0;
    for (Outcome outcome : Outcome.values()) {
      sum += part.audit().count(outcome);
    }
    return sum;
  }

  private static void append(Part part, StringBuilder text) {
    Audit audit = part.audit();
    text.append(
        """

        %s
          decisions          %,d by %d processes in %s
          admitted           %,d, of which %,d are known to the microsecond
          denied             %,d, of which %,d were shown to be due to a limit
          decided by policy  %,d (denied; Redis gave no clear answer, so nothing is counted on)
          accounts           %,d, of which %,d got all that a limit allows
          compared           %,d accounts with what Redis counted
          faults             %,d
        """
            .formatted(
                part.title(),
                decisions(part),
                Callers.PROCESSES,
                clock(part.took()).strip(),
                audit.count(Outcome.ADMITTED),
                audit.exact(),
                audit.count(Outcome.DENIED),
                audit.explained(),
                audit.count(Outcome.POLICY),
                audit.accounts(),
                audit.atTheBound(),
                part.compared(),
                part.faults().size()));
    part.faultsByKind()
        .forEach(
            (kind, done) ->
                text.append(
                    "    %-46s %3d  at %s%n"
                        .formatted(
                            kind.words,
                            done.size(),
                            done.stream()
                                .map(it -> clock(sinceStart(part, it.from())).strip())
                                .collect(Collectors.joining(" ")))));
    audit
        .worst()
        .forEach(
            worst ->
                text.append(
                    "  worst account      %s: %,d of at most %,d within %,d ms (%s)%n"
                        .formatted(
                            worst.account(),
                            worst.peak().sum(),
                            worst.peak().bound(),
                            (worst.peak().to() - worst.peak().from()) / 1_000,
                            worst.limit())));
    part.strange()
        .forEach(what -> text.append("  not as it should be: ").append(what).append('\n'));
    if (audit.violations().isEmpty()) {
      text.append("  none over its bound\n");
    }
    audit.violations().stream()
        .limit(MOST_SHOWN)
        .forEach(it -> text.append("  BROKEN  ").append(shown(part, it)).append('\n'));
    if (audit.violations().size() > MOST_SHOWN) {
      text.append("  BROKEN  and %,d more%n".formatted(audit.violations().size() - MOST_SHOWN));
    }
  }

  private static Duration sinceStart(Part part, long micros) {
    return Duration.ofNanos((micros - part.startMicros()) * 1_000);
  }

  /** A violation with the last fault before it. */
  private static String shown(Part part, Audit.Violation violation) {
    if (violation.atMicros() == 0) {
      return violation.what();
    }
    String fault =
        part.faults().stream()
            .filter(it -> it.from() <= violation.atMicros())
            .reduce((earlier, later) -> later)
            .map(
                it ->
                    ", %,d ms after the begin of: %s"
                        .formatted((violation.atMicros() - it.from()) / 1_000, it.kind().words))
            .orElse("");
    return violation.what()
        + " at "
        + clock(sinceStart(part, violation.atMicros())).strip()
        + fault;
  }
}
