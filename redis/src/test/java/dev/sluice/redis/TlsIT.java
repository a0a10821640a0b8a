package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.OnStoreFailure;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.redis.testing.RedisCluster;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.redis.testing.RedisProcess.Binary;
import dev.sluice.testing.Needs;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Encrypted connections with a self-signed certificate. */
@Needs({"redis-server", "openssl"})
class TlsIT {
  private static final Identity ANN = Identity.of("member", "ann");
  private static final Rules RULES =
      Rules.of(
          Rule.builder("r")
              .by("member")
              .limit(Limit.fixedWindow(3, Duration.ofDays(1)))
              .onStoreFailure(OnStoreFailure.DENY)
              .build());

  @TempDir Path folder;

  @Test
  void encryptedConnectionDecidesAndAnUnknownCertificateIsRefused() throws Exception {
    int port = RedisProcess.freePort();
    try (RedisProcess server =
        RedisProcess.start(Binary.SYSTEM, encrypted(port).toArray(new String[0]))) {
      String uri = "rediss://127.0.0.1:" + port;
      Duration patient = Duration.ofSeconds(5);
      try (Limiter trusting =
              Limiter.owning(
                  RedisStore.builder(uri + "?verifyPeer=NONE").deadline(patient).build(), RULES);
          Limiter wary = Limiter.owning(RedisStore.builder(uri).deadline(patient).build(), RULES)) {
        for (int i = 0; i < 4; i++) {
          assertThat(trusting.decide("r", ANN).allowed()).isEqualTo(i < 3);
        }
        assertThat(wary.decide("r", ANN)).isInstanceOf(Decision.Unmetered.class);
      }
      assertThat(server.keysWithoutTtl()).isEmpty();
    }
  }

  @Test
  void clusterIsReachedThroughEncryptedConnections() throws Exception {
    int port = RedisProcess.freePort();
    List<String> arguments = new ArrayList<>(encrypted(port));
    arguments.addAll(List.of("--cluster-enabled", "yes", "--tls-cluster", "yes"));
    try (RedisProcess server =
        RedisProcess.start(Binary.SYSTEM, arguments.toArray(new String[0]))) {
      assertThat(server.command("CLUSTER", "ADDSLOTSRANGE", "0", "16383")).isEqualTo("OK");
      RedisCluster.await(() -> server.command("CLUSTER", "INFO").contains("cluster_state:ok"));
      String uri = "rediss-cluster://127.0.0.1:" + port + "?verifyPeer=NONE";
      try (Limiter limiter =
          Limiter.owning(RedisStore.builder(uri).deadline(Duration.ofSeconds(5)).build(), RULES)) {
        for (int i = 0; i < 4; i++) {
          assertThat(limiter.decide("r", ANN)).isNotInstanceOf(Decision.Unmetered.class);
        }
        assertThat(limiter.decide("r", ANN).allowed()).isFalse();
      }
    }
  }

  private List<String> encrypted(int port) throws IOException, InterruptedException {
    Path key = folder.resolve("key.pem");
    Path certificate = folder.resolve("certificate.pem");
    makeCertificate(key, certificate);
    return List.of(
        "--tls-port",
        Integer.toString(port),
        "--tls-cert-file",
        certificate.toString(),
        "--tls-key-file",
        key.toString(),
        "--tls-ca-cert-file",
        certificate.toString(),
        "--tls-auth-clients",
        "no");
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
