package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testing.Needs;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LoadIT {
  @TempDir private Path directory;

  /** The load test of the seeds: 1,200 requests, 50 at a time, of which 1,000 may pass. */
  @Test
  @Needs("ab")
  void exactlyAThousandOfTwelveHundredPass() throws Exception {
    try (Sluice sluice = Sluice.start()) {
      String printed =
          Program.run(
              directory,
              List.of("ab", "-q", "-n", "1200", "-c", "50", sluice.url() + "/v1/gate/Everyone"));

      assertThat(printed).contains("Complete requests:      1200\n");
      assertThat(printed).contains("Non-2xx responses:      200\n");
      String metrics = sluice.get("/metrics").response().body();
      assertThat(metrics)
          .contains(
              "sluice_decisions_total{counted_by=\"store\",locked=\"false\",outcome=\"allowed\",rule=\"Everyone\"} 1000.0")
          .contains(
              "sluice_decisions_total{counted_by=\"store\",locked=\"false\",outcome=\"denied\",rule=\"Everyone\"} 200.0");
    }
  }

  /** HTTP/1.0, where a client must be told that its connection is kept, or waits for its end. */
  @Test
  @Needs("ab")
  void keptConnectionsOfHttp10AreAnsweredOneAfterTheOther() throws Exception {
    try (Sluice sluice = Sluice.start()) {
      String url = sluice.url() + "/v1/gate/NewCrawlerRule";

      String printed =
          Program.run(directory, List.of("ab", "-q", "-k", "-n", "2000", "-c", "50", url));

      assertThat(printed)
          .contains("Complete requests:      2000\n")
          .contains("Failed requests:        0\n")
          .contains("Keep-Alive requests:    2000\n")
          .doesNotContain("Non-2xx");
    }
  }
}
