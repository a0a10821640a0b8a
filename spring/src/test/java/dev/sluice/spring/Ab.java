package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** ApacheBench, the client of the seeds. */
final class Ab {
  private Ab() {}

  /** Sends 1,200 requests, 50 at a time; what it reports. */
  static String report(String url) throws IOException, InterruptedException {
    Process ab =
        new ProcessBuilder("ab", "-q", "-l", "-n", "1200", "-c", "50", url)
            .redirectErrorStream(true)
            .start();
    String report = new String(ab.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(ab.waitFor()).as(report).isZero();
    return report;
  }
}
