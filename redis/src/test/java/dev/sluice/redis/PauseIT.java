package dev.sluice.redis;

import static dev.sluice.redis.testing.RedisProcess.newest;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.redis.testing.RedisServers;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** A pause of our own process is no outage of Redis. */
@ExtendWith(RedisServers.class)
class PauseIT {
  /** Runs a program of callers, pauses it some times, and returns what it printed at its end. */
  private static String paused(Duration deadline, Duration pause, int times) throws Exception {
    RedisProcess server = RedisServers.single(newest());
    long asking = times * (pause.toMillis() + 600) + 1_000;
    Process callers =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                PausedCallers.class.getName(),
                server.uri(),
                Long.toString(deadline.toMillis()),
                Long.toString(asking))
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    try (BufferedReader out = callers.inputReader()) {
      awaitLine(out, "asking");
      for (int i = 0; i < times; i++) {
        let(Duration.ofMillis(300));
        signal(callers, "STOP");
        let(pause);
        signal(callers, "CONT");
        let(Duration.ofMillis(300));
      }
      return awaitLine(out, "uncounted");
    } finally {
      callers.destroyForcibly();
    }
  }

  private static String awaitLine(BufferedReader out, String word) throws IOException {
    String line = out.readLine();
    while (line != null && !line.contains(word)) {
      line = out.readLine();
    }
    return String.valueOf(line);
  }

  private static void let(Duration pass) {
    LockSupport.parkNanos(pass.toNanos()); // another process is paused in real time
  }

  private static void signal(Process process, String name) throws Exception {
    new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).start().waitFor();
  }

  @Test
  void processStoppedForThreeSecondsCountsEveryCallWithTheDefaults() throws Exception {
    String result = paused(Duration.ofMillis(500), Duration.ofSeconds(3), 1);

    System.out.println("SIGSTOP of the callers for 3 s, deadline 500 ms: " + result);
    assertThat(result).endsWith(" calls, 0 uncounted").doesNotStartWith("0 ");
  }

  @Test
  void processStoppedForLongerThanAShortDeadlineCountsEveryCall() throws Exception {
    String result = "";
    // On a busy machine Redis itself may take 50 ms now and then; not in each of three runs.
    for (int run = 0; run < 3 && !result.endsWith(" calls, 0 uncounted"); run++) {
      result = paused(Duration.ofMillis(50), Duration.ofMillis(300), 5);
      System.out.println("SIGSTOP of the callers for 300 ms, 5 times, deadline 50 ms: " + result);
    }

    assertThat(result).endsWith(" calls, 0 uncounted").doesNotStartWith("0 ");
  }
}
