package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.contract.MovableClock;
import dev.sluice.memory.MemoryStore;
import dev.sluice.rules.Until;
import dev.sluice.server.admin.AdminToken;
import dev.sluice.server.admin.Operators;
import dev.sluice.server.api.ReceiptKeys;
import dev.sluice.server.health.Meters;
import dev.sluice.server.http.Settings;
import dev.sluice.server.tls.ClientTls;
import dev.sluice.server.tls.Subject;
import dev.sluice.server.tls.TlsFiles;
import dev.sluice.testing.Needs;
import java.io.IOException;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A service that speaks TLS, with certificates that openssl made. */
@Needs({"openssl", "curl"})
class TlsIT {
  private static final String LIVE = "GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n";
  private static final String BAD =
      "POST /v1/check HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: x\r\n\r\n";
  private static final Duration LONG = Duration.ofSeconds(10);

  @TempDir private static Path directory;

  /** Ahead, so that certificates that a test makes later are valid already. */
  private static MovableClock clock;

  private static Authority authority;
  private static Path certificate;
  private static Path key;
  private static Path operators;
  private static Sluice sluice;

  @BeforeAll
  static void start() throws Exception {
    clock = MovableClock.at(Instant.now().plusSeconds(3_600));
    authority = Authority.create(directory, "ca");
    certificate = directory.resolve("live.pem");
    key = directory.resolve("live.key");
    install(authority.server("first"), certificate, key);
    operators =
        Files.writeString(
            directory.resolve("operators.yaml"),
            """
            operators:
              deploy: {certificate: "CN=deploy,O=Acme"}
              looker: {certificate: "CN=looker,OU=b,OU=a", role: read}
            """);
    sluice = start(new TlsFiles(certificate, key, authority.file()));
  }

  private static Sluice start(TlsFiles files) {
    return Sluice.start(
        Settings.builder().tls(files).clock(clock).build(),
        Sluice.sample(),
        MemoryStore.create(),
        new Meters(),
        ReceiptKeys.ofProcess(),
        Operators.follow(operators, AdminToken.of(Sluice.TOKEN), true));
  }

  @AfterAll
  static void stop() {
    sluice.close();
  }

  private static void install(Authority.Signed signed, Path certificate, Path key)
      throws IOException {
    Files.copy(signed.certificate(), certificate, StandardCopyOption.REPLACE_EXISTING);
    Files.copy(signed.key(), key, StandardCopyOption.REPLACE_EXISTING);
  }

  private static SSLContext trusting() {
    return ClientTls.context(authority.file(), null, null);
  }

  private static HttpResponse<String> get(HttpClient client, String url) throws Exception {
    return client.send(
        HttpRequest.newBuilder(URI.create(url)).build(), HttpResponse.BodyHandlers.ofString());
  }

  /** The answer to curl: its status and, on the next line, its body. */
  private static String curl(String path, String... more) throws Exception {
    List<String> command = new ArrayList<>(List.of("curl", "-sS", "--max-time", "30"));
    command.addAll(List.of("--cacert", authority.file().toString()));
    command.addAll(List.of("-w", "\n%{http_code} %{http_version}", sluice.url() + path));
    command.addAll(List.of(more));
    return Program.run(directory, command);
  }

  private static String curl(Authority.Signed as, String path, String... more) throws Exception {
    return curl(
        path,
        Stream.concat(
                Stream.of("--cert", as.certificate().toString(), "--key", as.key().toString()),
                Stream.of(more))
            .toArray(String[]::new));
  }

  private static SSLSocket connect(SSLContext context) throws IOException {
    return connect(context, sluice);
  }

  private static SSLSocket connect(SSLContext context, Sluice to) throws IOException {
    SSLSocket socket =
        (SSLSocket)
            context
                .getSocketFactory()
                .createSocket(InetAddress.getLoopbackAddress(), to.service().port());
    socket.setSoTimeout(20_000);
    socket.startHandshake();
    return socket;
  }

  /** The serial number of the certificate that a new connection sees. */
  private static BigInteger served() {
    return served(sluice);
  }

  private static BigInteger served(Sluice by) {
    try (SSLSocket socket = connect(trusting(), by)) {
      return ((X509Certificate) socket.getSession().getPeerCertificates()[0]).getSerialNumber();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static X509Certificate read(Path file) throws Exception {
    return (X509Certificate)
        CertificateFactory.getInstance("X.509").generateCertificate(Files.newInputStream(file));
  }

  private static BigInteger serial(Authority.Signed signed) throws Exception {
    return read(signed.certificate()).getSerialNumber();
  }

  private static String refused() throws Exception {
    return curl("/metrics")
        .lines()
        .filter(line -> line.startsWith("sluice_files_refused{files=\"certificate\"} "))
        .map(line -> line.substring(line.lastIndexOf(' ') + 1))
        .findFirst()
        .orElse("(none)");
  }

  // ---- HTTPS ----------------------------------------------------------------------------------

  @Test
  void httpsAnswersByBothVersionsOfHttpAndOfTls() throws Exception {
    assertThat(curl("/v1/gate/Everyone", "--http1.1")).endsWith("\n200 1.1");
    assertThat(curl("/v1/gate/Everyone", "--http2")).endsWith("\n200 2");
    assertThat(curl("/health/live", "--tls-max", "1.2")).endsWith("\n200 2");
    assertThat(curl("/health/live", "--tlsv1.3")).endsWith("\n200 2");
    assertThat(curl("/health/live", "--tlsv1.0", "--tls-max", "1.1", "--ciphers", "ALL@SECLEVEL=0"))
        .contains("curl: (35)");
    assertThat(curl("/metrics"))
        .contains("armeria_server_tls_certificate_validity_days{")
        .contains("armeria_server_tls_handshakes_total{");
  }

  @Test
  void theSessionOfTheConsoleIsForTlsOnly() throws Exception {
    String answer =
        curl(
            "/console/api/session",
            "-i",
            "-H",
            "Content-Type: application/json",
            "-H",
            "Sec-Fetch-Site: same-origin",
            "-d",
            "{\"token\": \"%s\"}".formatted(Sluice.TOKEN));

    assertThat(answer)
        .endsWith("\n204 2")
        .containsPattern("set-cookie: __Host-sluice-session=[0-9a-f]{64};.*; Secure;")
        .doesNotContainIgnoringCase("Domain=");
  }

  @Test
  void plainHttpIsRefused() throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), sluice.service().port())) {
      socket.setSoTimeout(20_000);
      socket.getOutputStream().write(LIVE.getBytes(StandardCharsets.UTF_8));
      String received =
          new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);

      assertThat(received).doesNotContain("HTTP/1.1", "live");
    }
  }

  @Test
  void framingIsCheckedOverTlsToo() throws IOException {
    try (SSLSocket socket = connect(trusting())) {
      socket.getOutputStream().write((LIVE + BAD + LIVE).getBytes(StandardCharsets.UTF_8));
      String received =
          new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);

      assertThat(received.split("HTTP/1\\.1 ", -1)).hasSize(3);
      assertThat(received)
          .startsWith("HTTP/1.1 200 ")
          .containsIgnoringCase("connection: keep-alive")
          .contains("HTTP/1.1 400 ", "(expected: chunked or none)");
    }
  }

  @Test
  void aClientThatDoesNotKnowTheAuthorityEndsTheConnection() throws Exception {
    Authority other = Authority.create(directory, "other-3");
    SSLContext foreign = ClientTls.context(other.file(), null, null);

    assertThatThrownBy(() -> connect(foreign)).isInstanceOf(SSLException.class);
    assertThat(curl("/health/live")).endsWith("\n200 2");
  }

  // ---- The files change -----------------------------------------------------------------------

  @Test
  void aNewCertificateIsServedAndNoRequestFailsMeanwhile() throws Exception {
    Authority.Signed second = authority.server("second-4");
    HttpClient kept =
        HttpClient.newBuilder().sslContext(trusting()).version(HttpClient.Version.HTTP_1_1).build();
    AtomicBoolean enough = new AtomicBoolean();
    AtomicInteger answered = new AtomicInteger();
    CompletableFuture<List<Integer>> calls =
        CompletableFuture.supplyAsync(
            () -> {
              List<Integer> bad = new ArrayList<>();
              while (!enough.get()) {
                try {
                  int status = get(kept, sluice.url() + "/health/live").statusCode();
                  if (status != 200) {
                    bad.add(status);
                  }
                  served(); // a new connection
                } catch (Exception | AssertionError e) {
                  bad.add(-1);
                }
                answered.incrementAndGet();
              }
              return bad;
            });
    Until.within(LONG, "calls", () -> answered.get() > 5);
    BigInteger before = served();

    Files.copy(second.certificate(), certificate, StandardCopyOption.REPLACE_EXISTING);
    int atHalf = answered.get();
    Until.within(LONG, "calls with half a pair", () -> answered.get() > atHalf + 5);
    Files.copy(second.key(), key, StandardCopyOption.REPLACE_EXISTING);

    BigInteger expected = serial(second);
    Until.within(LONG, "the second certificate", () -> served().equals(expected));
    int atEnd = answered.get();
    Until.within(LONG, "calls afterwards", () -> answered.get() > atEnd + 5);
    enough.set(true);
    assertThat(calls.join()).isEmpty();
    assertThat(before).isNotEqualTo(expected);
    assertThat(refused()).isEqualTo("0.0");
  }

  @Test
  void theSwapOfAKubernetesSecretIsFollowed() throws Exception {
    Authority.Signed second = authority.server("second-5");
    Path volume = Files.createDirectory(directory.resolve("volume"));
    swap(volume, "..1", new Authority.Signed(certificate, key));
    Files.createSymbolicLink(volume.resolve("tls.crt"), Path.of("..data", "tls.crt"));
    Files.createSymbolicLink(volume.resolve("tls.key"), Path.of("..data", "tls.key"));
    TlsFiles files = new TlsFiles(volume.resolve("tls.crt"), volume.resolve("tls.key"), null);
    try (Sluice other = start(files)) {
      BigInteger before = served(other);

      swap(volume, "..2", second);

      BigInteger expected = serial(second);
      Until.within(LONG, "the second certificate", () -> served(other).equals(expected));
      assertThat(before).isNotEqualTo(expected);
    }
  }

  /** As a kubelet does: a new directory, a new link to it, renamed over "..data". */
  private static void swap(Path volume, String version, Authority.Signed signed)
      throws IOException {
    Path made = Files.createDirectory(volume.resolve(version));
    install(signed, made.resolve("tls.crt"), made.resolve("tls.key"));
    Path link = Files.createSymbolicLink(volume.resolve("..data_tmp"), Path.of(version));
    Files.move(link, volume.resolve("..data"), StandardCopyOption.ATOMIC_MOVE);
  }

  @Test
  void aPairThatDoesNotBelongTogetherIsRefusedAndTheOldOneStays() throws Exception {
    Authority.Signed second = authority.server("second-6");
    BigInteger before = served();
    try (Logged log = new Logged("dev.sluice.internal.Followed")) {
      Files.copy(second.key(), key, StandardCopyOption.REPLACE_EXISTING);
      Until.within(LONG, "refused", () -> !log.lines().isEmpty());

      assertThat(log.lines().get(0))
          .contains("certificate: refused, what was in force before stays in force:")
          .contains("live.key  is not the key of the first certificate in ");
      assertThat(refused()).isEqualTo("1.0");
      assertThat(served()).isEqualTo(before);
      String whole = Files.readString(second.certificate());
      Files.writeString(certificate, whole.substring(0, whole.length() / 2));
      Until.within(LONG, "half a file", () -> log.lines().size() == 2);
      assertThat(log.lines().get(1)).contains("live.pem  PEM block 1 has no end (expected: ");
      assertThat(served()).isEqualTo(before);

      Files.writeString(certificate, whole);

      BigInteger expected = serial(second);
      Until.within(LONG, "the second certificate", () -> served().equals(expected));
      assertThat(refused()).isEqualTo("0.0");
      assertThat(log.lines()).hasSize(2).noneMatch(line -> line.contains("PRIVATE"));
    }
  }

  @Test
  void filesThatAreNoCertificateOrKeyStopTheStart() throws Exception {
    Path rsa = directory.resolve("rsa.key");
    Program.run(
        directory, List.of("openssl", "genrsa", "-traditional", "-out", rsa.toString(), "2048"));

    assertThatThrownBy(() -> start(new TlsFiles(key, key, null)))
        .hasMessageContaining("live.key  no certificate (expected: PEM that begins with ");
    assertThatThrownBy(() -> start(new TlsFiles(certificate, certificate, null)))
        .hasMessageContaining("live.pem  0 private keys (expected: one, in PKCS#8");
    assertThatThrownBy(() -> start(new TlsFiles(certificate, rsa, null)))
        .hasMessageContaining("rsa.key  the form is 'RSA PRIVATE KEY' (expected: PKCS#8 ");
  }

  // ---- Client certificates --------------------------------------------------------------------

  @Test
  void anOperatorComesInWithACertificateAndTheAuditNamesThem() throws Exception {
    Authority.Signed deploy = authority.client("deploy-8", "/O=Acme/CN=deploy");
    Authority.Signed looker = authority.client("looker-8", "/OU=a/OU=b/CN=looker");

    try (Logged audit = new Logged("sluice.audit")) {
      assertThat(curl(deploy, "/v1/rules")).endsWith("\n200 2");
      assertThat(curl(deploy, "/v1/rules", "--tls-max", "1.2")).endsWith("\n200 2");
      assertThat(curl(deploy, "/v1/receipts/rotate", "-X", "POST", "-H", "Sluice-User: root"))
          .endsWith("\n200 2");
      assertThat(curl(looker, "/v1/rules")).endsWith("\n200 2");
      assertThat(curl(looker, "/v1/receipts/rotate", "-X", "POST")).endsWith("\n403 2");
      assertThat(audit.lines())
          .containsExactly("receipt key rotated [who=\"deploy (claims 'root') at 127.0.0.1\"]");
    }
  }

  /** A client that comes again does not show its certificate again. */
  @Test
  void aResumedSessionStillHasItsCertificate() throws Exception {
    Authority.Signed deploy = authority.client("deploy-again", "/O=Acme/CN=deploy");
    SSLContext context = ClientTls.context(authority.file(), deploy.certificate(), deploy.key());
    for (int i = 0; i < 3; i++) {
      HttpClient client = HttpClient.newBuilder().sslContext(context).build();

      assertThat(get(client, sluice.url() + "/v1/rules").statusCode()).isEqualTo(200);
    }
  }

  @Test
  void aCertificateThatProvesNothingIs401AndNoHindranceForADecision() throws Exception {
    Authority other = Authority.create(directory, "other-9");
    Authority.Signed foreign = other.client("foreign-9", "/O=Acme/CN=deploy");
    Authority.Signed wrongUse = authority.server("deploy-server-9");
    Authority.Signed stranger = authority.client("stranger-9", "/O=Acme/CN=stranger");

    assertThat(curl("/v1/rules")).contains("this route needs the admin token").endsWith("\n401 2");
    assertThat(curl(foreign, "/v1/rules"))
        .contains("client certificate: not signed for clients by an authority of --tls-client-ca")
        .endsWith("\n401 2");
    assertThat(curl(wrongUse, "/v1/rules"))
        .contains("client certificate: not signed for clients by an authority")
        .endsWith("\n401 2");
    assertThat(curl(stranger, "/v1/rules"))
        .contains("client certificate: 'CN=stranger,O=Acme' is no operator")
        .endsWith("\n401 2");
    assertThat(curl(foreign, "/v1/gate/Everyone")).endsWith("\n200 2");
  }

  @Test
  void anExpiredCertificateIs401AlsoOnAnOpenConnection() throws Exception {
    Authority.Signed deploy = authority.client("deploy-10", "/O=Acme/CN=deploy");
    HttpClient client =
        HttpClient.newBuilder()
            .sslContext(ClientTls.context(authority.file(), deploy.certificate(), deploy.key()))
            .build();
    assertThat(get(client, sluice.url() + "/v1/rules").statusCode()).isEqualTo(200);

    clock.advance(Duration.ofDays(2));
    HttpResponse<String> late = get(client, sluice.url() + "/v1/rules");
    clock.advance(Duration.ofDays(-2));

    assertThat(late.statusCode()).isEqualTo(401);
    assertThat(late.body()).contains("client certificate: expired at ");
    assertThat(get(client, sluice.url() + "/health/live").statusCode()).isEqualTo(200);
  }

  @Test
  void aWrongTokenIsNotMendedByACertificateAndARightOneNeedsNone() throws Exception {
    Authority.Signed deploy = authority.client("deploy-11", "/O=Acme/CN=deploy");

    assertThat(curl(deploy, "/v1/rules", "-H", "Authorization: Bearer wrong")).endsWith("\n401 2");
    assertThat(curl("/v1/rules", "-H", "Authorization: Bearer " + Sluice.TOKEN))
        .endsWith("\n200 2");
  }

  @Test
  void anotherAuthorityIsAskedForAndTheOldOneIsOut() throws Exception {
    Authority other = Authority.create(directory, "other-12");
    Authority.Signed deploy = other.client("deploy-12", "/O=Acme/CN=deploy");
    HttpClient client =
        HttpClient.newBuilder()
            .sslContext(ClientTls.context(authority.file(), deploy.certificate(), deploy.key()))
            .build();
    Path clients = Files.copy(authority.file(), directory.resolve("clients.pem"));
    try (Sluice changing = start(new TlsFiles(certificate, key, clients))) {
      String url = changing.url() + "/v1/rules";
      // It offers only certificates of authorities that it is asked for.
      assertThat(get(client, url).body()).contains("this route needs the admin token");

      Files.copy(other.file(), clients, StandardCopyOption.REPLACE_EXISTING);

      Until.within(LONG, "let in", () -> status(url, deploy) == 200);
      Files.copy(authority.file(), clients, StandardCopyOption.REPLACE_EXISTING);
      Until.within(LONG, "out again", () -> status(url, deploy) == 401);
    }
  }

  /** The status on a new connection. */
  private static int status(String url, Authority.Signed as) {
    SSLContext context = ClientTls.context(authority.file(), as.certificate(), as.key());
    try {
      return get(HttpClient.newBuilder().sslContext(context).build(), url).statusCode();
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void anotherSpellingOfASubjectIsAnotherSubject() throws Exception {
    List<String> others =
        List.of(
            "/CN=deploy,O=Acme",
            "/CN=deploy",
            "/CN=deploy/O=Acme",
            "/O=Acme+CN=deploy",
            "/O=Acme/CN=deploy/CN=deploy",
            "/O=Acme/OU=x/CN=deploy",
            "/O=Acme/CN=Deploy",
            "/O=Acme/CN=deploy\\\\,O=Acme",
            "/O=Acme/CN=\uff44\uff45\uff50\uff4c\uff4f\uff59",
            "/O=acme/CN=deploy",
            "/OU=b/OU=a/CN=looker",
            "/OU=a+OU=b/CN=looker",
            "/OU=a,OU=b/CN=looker");
    for (int i = 0; i < others.size(); i++) {
      Authority.Signed signed = authority.client("other" + i, others.get(i));

      assertThat(curl(signed, "/v1/rules"))
          .as(others.get(i))
          .contains("is no operator")
          .endsWith("\n401 2");
    }
    Authority.Signed comma = authority.client("comma-13", "/O=Acme/CN=a,b");
    assertThat(Subject.of(read(comma.certificate())))
        .isEqualTo(Subject.parse("CN=a\\,b,O=Acme"))
        .isEqualTo(Subject.parse("cn=\"a,b\", o=Acme"))
        .isNotEqualTo(Subject.parse("CN=a,O=Acme"));
  }

  // ---- Commands -------------------------------------------------------------------------------

  @Test
  void commandsSpeakTlsWithATokenOrACertificate() throws Exception {
    Authority.Signed deploy = authority.client("deploy-14", "/O=Acme/CN=deploy");
    String ca = authority.file().toString();
    String list = "locks list --url " + sluice.url();

    assertThat(run(list + " --ca " + ca + " --token " + Sluice.TOKEN).out())
        .isEqualTo("nobody is locked\n");
    assertThat(
            run(list
                    + " --ca %s --client-cert %s --client-key %s"
                        .formatted(ca, deploy.certificate(), deploy.key()))
                .out())
        .isEqualTo("nobody is locked\n");
    assertThat(run(list + " --token " + Sluice.TOKEN).err())
        .contains("no TLS connection", "signed by an authority of --ca or of Java");
    assertThat(run(list + " --client-cert " + deploy.certificate()).err())
        .contains("it without its key (expected: both --client-cert and --client-key)");
    assertThat(run("locks list --url http://127.0.0.1:" + sluice.service().port()).err())
        .contains("no HTTP answer", "(expected: https:// if the service has --tls-cert)");
  }

  private static CommandsTest.Ended run(String command) {
    return CommandsTest.run(command.split(" ", -1));
  }

  @Test
  void theGreetingNamesHttps() throws Exception {
    List<String> serve =
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-cp",
            System.getProperty("java.class.path"),
            "dev.sluice.server.commands.Main",
            "serve",
            "--port=0",
            "--tls-cert=" + certificate,
            "--tls-key=" + key,
            "--operators=" + operators,
            "--tls-client-ca=" + authority.file());
    try (Program program = Program.start(directory, serve)) {
      Until.within(Duration.ofSeconds(60), "greeting", () -> printed(program).contains("Try:"));

      assertThat(printed(program))
          .containsPattern("Sluice listens on https://127\\.0\\.0\\.1:\\d+")
          .containsPattern("curl -i https://127\\.0\\.0\\.1:\\d+/v1/gate/Everyone")
          .doesNotContain("  token   ");
    }
  }

  private static String printed(Program program) {
    try {
      return program.printed();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }
}
