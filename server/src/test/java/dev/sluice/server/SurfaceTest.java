package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.http.Settings;
import org.junit.jupiter.api.Test;

/** What a stranger on the network sees of a service. */
class SurfaceTest {
  @Test
  void aServiceListensOnLoopbackUnlessConfiguredOtherwise() {
    assertThat(Settings.defaults().host()).isEqualTo("127.0.0.1");
    try (Sluice sluice = Sluice.start()) {
      assertThat(sluice.url()).startsWith("http://127.0.0.1:");
    }
  }

  @Test
  void noIdentityIsShownWithoutAToken() {
    try (Sluice sluice = Sluice.start()) {
      for (int i = 0; i < 5; i++) {
        sluice.post(
            "/v1/check",
            "{\"rule\":\"SecureLogin\",\"identity\":{\"login\":\"somebody-special\",\"ip\":\"192.0.2.77\"}}");
      }

      for (String path :
          new String[] {"/metrics", "/health/live", "/health/ready", "/openapi.yaml"}) {
        assertThat(sluice.get(path).response().body())
            .as(path)
            .doesNotContain("somebody-special", "192.0.2.77");
      }
    }
  }
}
