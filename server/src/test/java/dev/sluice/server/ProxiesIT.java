package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.server.Server;
import dev.sluice.http.ClientAddress;
import dev.sluice.testing.Needs;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Real proxies, with the configurations of docs/proxies.md; only the ports are others. */
class ProxiesIT {
  private static final String RULES =
      """
      facets:
        ip: client-address
      rules:
        Everyone:
          by: [ip]
          limit: 3 per 1h
      """;

  @TempDir private Path directory;
  private Sluice sluice;
  private Server upstream;
  private int port;
  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  @BeforeEach
  void start() throws Exception {
    Settings settings =
        Settings.defaults().withClient(ClientAddress.trusting(List.of("127.0.0.1")));
    sluice = Sluice.start(settings, RULES);
    upstream =
        Server.builder()
            .http(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
            .service("prefix:/", (ctx, request) -> HttpResponse.of("upstream"))
            .build();
    upstream.start().join();
    port = Program.freePort();
  }

  @AfterEach
  void stop() {
    upstream.stop().join();
    sluice.close();
  }

  /** The documented configuration with the ports of this test. */
  private String ported(String configuration) {
    return configuration
        .replace("127.0.0.1:8080", "127.0.0.1:" + sluice.service().port())
        .replace("127.0.0.1:9000", "127.0.0.1:" + upstream.activeLocalPort())
        .replace("127.0.0.1:8000", "127.0.0.1:" + port);
  }

  @Test
  @Needs("nginx")
  void nginxLetsThreePassAndTellsTheFourthWhen() throws Exception {
    String http = ported(Docs.named("proxies.md", "nginx", "nginx.conf"));
    Files.writeString(
        directory.resolve("nginx.conf"),
        """
        daemon off;
        master_process off;
        pid nginx.pid;
        error_log stderr;
        events { worker_connections 64; }
        http {
          access_log off;
          client_body_temp_path body;
          proxy_temp_path proxy;
          fastcgi_temp_path fastcgi;
          uwsgi_temp_path uwsgi;
          scgi_temp_path scgi;
        %s}
        """
            .formatted(http));

    List<String> nginx =
        List.of("nginx", "-p", directory.toString(), "-e", "stderr", "-c", "nginx.conf");
    try (Program program = Program.start(directory, nginx)) {
      program.awaitPort(port);
      judge(true);
    }
  }

  @Test
  @Needs("caddy")
  void caddyLetsThreePassAndTellsTheFourthWhen() throws Exception {
    caddy("Caddyfile", true);
  }

  @Test
  @Needs("caddy")
  void caddyInItsShortFormRefusesToo() throws Exception {
    caddy("Caddyfile.short", false);
  }

  private void caddy(String name, boolean tellsWhatIsLeft) throws Exception {
    Files.writeString(
        directory.resolve("Caddyfile"), ported(Docs.named("proxies.md", "caddyfile", name)));
    List<String> caddy = List.of("caddy", "run", "--config", "Caddyfile", "--adapter", "caddyfile");

    try (Program program = Program.start(directory, caddy)) {
      program.awaitPort(port);
      judge(tellsWhatIsLeft);
    }
  }

  private void judge(boolean tellsWhatIsLeft) throws Exception {
    for (int left = 2; left >= 0; left--) {
      // A client that forges its address is counted by its own.
      Sluice.Answer allowed = ask("203.0.113." + left);
      assertThat(allowed.status()).isEqualTo(200);
      assertThat(allowed.response().body()).isEqualTo("upstream");
      if (tellsWhatIsLeft) {
        assertThat(allowed.header("X-RateLimit-Limit")).isEqualTo("3");
        assertThat(allowed.header("X-RateLimit-Remaining")).isEqualTo("" + left);
        assertThat(allowed.header("RateLimit-Policy")).isEqualTo("\"Everyone\";q=3;w=3600");
        assertThat(allowed.header("RateLimit")).startsWith("\"Everyone\";r=" + left + ";t=");
      }
    }

    Sluice.Answer denied = ask("203.0.113.66");

    assertThat(denied.status()).isEqualTo(429);
    assertThat(Integer.parseInt(denied.header("Retry-After"))).isBetween(3_500, 3_600);
    assertThat(denied.header("X-RateLimit-Limit")).isEqualTo("3");
    assertThat(denied.header("X-RateLimit-Remaining")).isEqualTo("0");
    assertThat(denied.header("RateLimit")).startsWith("\"Everyone\";r=0;t=");
    assertThat(denied.header("Content-Type")).startsWith("application/problem+json");
    assertThat(denied.json().path("status").asInt()).isEqualTo(429);
    assertThat(
            sluice
                .send(sluice.admin("GET", "/v1/accounts/Everyone?ip=127.0.0.1"))
                .json()
                .path("balances")
                .get(0)
                .path("remaining")
                .asInt())
        .isZero();
  }

  private Sluice.Answer ask(String forged) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/some/page?x=1"))
            .header("X-Forwarded-For", forged)
            .build();
    return new Sluice.Answer(client.send(request, BodyHandlers.ofString()));
  }
}
