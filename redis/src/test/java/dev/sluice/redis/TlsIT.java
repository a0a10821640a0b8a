package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.OnStoreFailure;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.redis.testing.RedisProcess.Binary;
import dev.sluice.testing.Needs;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Encrypted connections, with a certificate that nobody has signed but its owner. */
@Needs({"redis-server", "openssl"})
class TlsIT {
  private static final Identity ANN = Identity.of("member", "ann");
  private static final Rules RULES =
      Rules.of(
          Rule.named("r")
              .by("member")
              .limit(Limit.fixed(3, Duration.ofDays(1)))
              .onStoreFailure(OnStoreFailure.DENY)
              .build());

  @TempDir Path folder;

  @Test
  void encryptedConnectionDecidesAndAnUnknownCertificateIsRefused() throws Exception {
    Path key = folder.resolve("key.pem");
    Path certificate = folder.resolve("certificate.pem");
    makeCertificate(key, certificate);
    int port = RedisProcess.freePort();
    try (RedisProcess server =
        RedisProcess.start(
            Binary.SYSTEM,
            "--tls-port",
            Integer.toString(port),
            "--tls-cert-file",
            certificate.toString(),
            "--tls-key-file",
            key.toString(),
            "--tls-ca-cert-file",
            certificate.toString(),
            "--tls-auth-clients",
            "no")) {
      String uri = "rediss://127.0.0.1:" + port;
      Duration patient = Duration.ofSeconds(5);
      try (Limiter trusting =
              Limiter.of(RedisStore.at(uri + "?verifyPeer=NONE").deadline(patient).open(), RULES);
          Limiter wary = Limiter.of(RedisStore.at(uri).deadline(patient).open(), RULES)) {
        for (int i = 0; i < 4; i++) {
          assertThat(trusting.decide("r", ANN).allowed()).isEqualTo(i < 3);
        }
        assertThat(wary.decide("r", ANN)).isInstanceOf(Decision.Unmetered.class);
      }
      assertThat(server.keysWithoutTtl()).isEmpty();
    }
  }

  private static void makeCertificate(Path key, Path certificate)
      throws IOException, InterruptedException {
    Process openssl =
        new ProcessBuilder(
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "rsa:2048",
                "-nodes",
                "-days",
                "2",
                "-subj",
                "/CN=127.0.0.1",
                "-keyout",
                key.toString(),
                "-out",
                certificate.toString())
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    assertThat(openssl.waitFor()).isZero();
  }
}
