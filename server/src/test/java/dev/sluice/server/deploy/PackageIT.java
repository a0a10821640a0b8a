package dev.sluice.server.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.server.Program;
import dev.sluice.testing.Needs;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The archive of {@code ./sluice package}, with an empty environment: no PATH, no JDK, no HOME. */
@Tag("release")
@Needs({"bash", "tar"})
class PackageIT {
  private static final Map<String, String> NOTHING = Map.of();
  private static final String TOKEN = "a-token-for-tests";
  private static final String RULES =
      """
      rules:
        Two: {by: [ip], limit: 2 per 1d}
      """;

  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  @TempDir private Path directory;

  private int gate(int port) throws Exception {
    URI gate = URI.create("http://127.0.0.1:" + port + "/v1/gate/Two");
    return client
        .send(HttpRequest.newBuilder(gate).build(), HttpResponse.BodyHandlers.discarding())
        .statusCode();
  }

  private String run(int exitCode, Map<String, String> environment, List<String> command)
      throws Exception {
    try (Program program = Program.start(directory, environment, command)) {
      int ended = program.await(120);
      assertThat(ended).as("%s:%n%s", command, program.printed()).isEqualTo(exitCode);
      return program.printed();
    }
  }

  @Test
  void unpackedAnywhereItServesAndItsCommandsWork() throws Exception {
    Path home = Archive.unpack(directory.resolve("a folder"));
    Path link = Files.createSymbolicLink(directory.resolve("limiter"), home.resolve("bin/sluice"));
    Files.writeString(directory.resolve("rules.yaml"), RULES);
    int port = Program.freePort();
    String sluice = link.toString();
    String url = "--url=http://127.0.0.1:" + port;
    // The JVM refuses to start if it cannot use the class-data archive.
    Map<String, String> strict = Map.of("SLUICE_JAVA_OPTS", "-Xshare:on -Xmx256m");
    List<String> serve =
        List.of(sluice, "serve", "--rules=rules.yaml", "--port=" + port, "--admin-token=" + TOKEN);

    try (Program service = Program.start(directory, strict, serve)) {
      service.awaitPort(port);

      assertThat(List.of(gate(port), gate(port), gate(port))).containsExactly(200, 200, 429);
      assertThat(run(0, NOTHING, List.of(sluice, "health", url))).isEqualTo("ready\n");
      assertThat(run(3, NOTHING, List.of(sluice, "check", "Two", "ip=127.0.0.1", url)))
          .startsWith("denied");
      assertThat(
              run(
                  0,
                  Map.of("SLUICE_ADMIN_TOKEN", TOKEN),
                  List.of(sluice, "accounts", "show", "Two", "ip=127.0.0.1", url)))
          .contains("ip=127.0.0.1");
      assertThat(run(0, NOTHING, List.of(sluice, "locks", "list", url, "--token=" + TOKEN)))
          .isNotEmpty();
      assertThat(run(0, NOTHING, List.of(sluice, "receipts", "rotate", url, "--token=" + TOKEN)))
          .isEqualTo("rotated\n");
    }
    assertThat(run(1, NOTHING, List.of(sluice, "health", url))).contains("no service at");
    assertThat(run(0, NOTHING, List.of(sluice, "rules", "check", "rules.yaml"))).contains("Two");
  }

  @Test
  void withoutItsClassDataItStartsWithoutAWord() throws Exception {
    Path home = Archive.unpack(directory);
    List<String> sample = List.of(home.resolve("bin/sluice").toString(), "rules", "sample");
    String expected = run(0, NOTHING, sample);

    try (Stream<Path> jars = Files.list(home.resolve("lib"))) {
      Path jar =
          jars.filter(each -> each.toString().contains("sluice-core")).findFirst().orElseThrow();
      Files.setLastModifiedTime(jar, FileTime.from(Instant.EPOCH));
    }
    assertThat(run(0, NOTHING, sample)).isEqualTo(expected);
    Files.write(home.resolve("lib/sluice.jsa"), new byte[100]);
    assertThat(run(0, NOTHING, sample)).isEqualTo(expected);
    Files.delete(home.resolve("lib/sluice.jsa"));
    assertThat(run(0, NOTHING, sample)).isEqualTo(expected);
  }

  @Test
  @Needs({"redis-server", "openssl"})
  void itCountsOnARedisBehindTls() throws Exception {
    Path home = Archive.unpack(directory);
    Files.writeString(directory.resolve("rules.yaml"), RULES);
    Program.run(
        directory,
        List.of(
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-keyout",
            "key.pem",
            "-out",
            "cert.pem",
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=DNS:localhost,IP:127.0.0.1"));
    Program.run(
        directory,
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
            "-importcert",
            "-noprompt",
            "-file",
            "cert.pem",
            "-keystore",
            "trust.p12",
            "-storepass",
            "trusted"));
    int tlsPort = Program.freePort();
    int port = Program.freePort();
    String trust =
        "-Xshare:on -Djavax.net.ssl.trustStore=%s -Djavax.net.ssl.trustStorePassword=trusted"
            .formatted(directory.resolve("trust.p12"));
    try (RedisProcess redis =
            RedisProcess.start(
                RedisProcess.Binary.SYSTEM,
                "--tls-port",
                "" + tlsPort,
                "--tls-cert-file",
                directory.resolve("cert.pem").toString(),
                "--tls-key-file",
                directory.resolve("key.pem").toString(),
                "--tls-auth-clients",
                "no");
        Program service =
            Program.start(
                directory,
                Map.of("SLUICE_JAVA_OPTS", trust),
                List.of(
                    home.resolve("bin/sluice").toString(),
                    "serve",
                    "--rules=rules.yaml",
                    "--require-store",
                    "--store-deadline=5s",
                    "--store=rediss://localhost:" + tlsPort,
                    "--port=" + port))) {
      assertThat(redis.port()).isNotEqualTo(tlsPort);
      service.awaitPort(port);

      assertThat(List.of(gate(port), gate(port), gate(port))).containsExactly(200, 200, 429);
      assertThat(
              run(
                  0,
                  NOTHING,
                  List.of(
                      home.resolve("bin/sluice").toString(),
                      "functions",
                      "list",
                      "--redis=" + redis.uri())))
          .contains("sluice_");
    }
  }
}
