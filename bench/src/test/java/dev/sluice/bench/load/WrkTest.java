package dev.sluice.bench.load;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class WrkTest {
  private static final String PRINTED =
      """
      Running 2s test @ http://127.0.0.1:8080/v1/check
        1 threads and 32 connections
        Thread Stats   Avg      Stdev     Max   +/- Stdev
          Latency     1.12ms    1.50ms  21.31ms   90.61%
          Req/Sec    28.91k     3.02k   33.16k    70.00%
        Latency Distribution
           50%  653.00us
           75%    1.20ms
           90%    2.63ms
           99%    8.27ms
        57712 requests in 2.00s, 9.25MB read
      Requests/sec:  28833.41
      Transfer/sec:      4.62MB
      """;

  @Test
  void readsRateAndPercentilesInMicroseconds() {
    assertThat(Wrk.Seen.read(PRINTED)).isEqualTo(new Wrk.Seen(57_712, 28_833.41, 653, 8_270));
  }

  @Test
  void aRunWithFailedRequestsIsNotAMeasurement() {
    assertThatThrownBy(() -> Wrk.Seen.read(PRINTED + "  Non-2xx or 3xx responses: 12\n"))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("wrk saw failures");
  }
}
