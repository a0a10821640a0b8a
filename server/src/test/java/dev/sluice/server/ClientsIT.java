package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.http.Settings;
import dev.sluice.testing.JavaSources;
import dev.sluice.testing.Needs;
import dev.sluice.testing.Page;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * openapi.yaml passes every rule of its linter, and the clients that the commands of
 * docs/service.md generate from it call a service. What they need is fetched into target/clients.
 */
@Tag("release")
@Needs({"bash", "node", "npm"})
class ClientsIT {
  private static final Path SOURCES = Path.of("src/test/clients").toAbsolutePath();
  private static final Path FOLDER = Path.of("target/clients").toAbsolutePath();
  private static final Path DOCUMENT =
      Path.of("src/main/resources/dev/sluice/server/openapi.yaml").toAbsolutePath();

  /** The address on the page. */
  private static final String DEFAULT_URL = "http://127.0.0.1:8080";

  private static final String RULES =
      """
      facets:
        apiKey: {header: X-Api-Key}
        login: caller
      rules:
        Api: {by: [apiKey], limits: [{token-bucket: {capacity: 100, refill: 1, per: 1h}}]}
        Gate: {by: [apiKey], limit: 1 per 1h}
        Login: {by: [login], limit: 2 per 1h, lock: 1h, lockOn: limit}
      """;

  /** What both clients print. */
  private static final List<String> CALLS =
      List.of(
          "check true 40",
          "check false true",
          "settle true",
          "check true 30",
          "gate 200 0",
          "gate 429 Too many requests Gate",
          "retry true true",
          "locks 401",
          "locks 1 login=ann",
          "lift true true",
          "locks 0");

  @BeforeAll
  static void install() throws Exception {
    Files.createDirectories(FOLDER);
    for (String file :
        List.of("package.json", "package-lock.json", ".npmrc", "tsconfig.json", "client.ts")) {
      Files.writeString(FOLDER.resolve(file), Files.readString(SOURCES.resolve(file)));
    }
    run("npm ci");
  }

  @Test
  void linterFindsNothing() throws Exception {
    assertThat(run(lint(DOCUMENT))).contains("No results with a severity of 'hint' or higher");
  }

  @Test
  void linterFindsAMistake() throws Exception {
    String document = Files.readString(DOCUMENT);
    Path bad = FOLDER.resolve("bad.yaml");
    Files.writeString(bad, document.replace("      operationId: settle\n", ""));

    assertThat(run(lint(bad) + " || true")).contains("operation-operationId", "1 problem");
  }

  private static String lint(Path document) {
    return "npx spectral lint --fail-severity hint --ruleset '%s' '%s'"
        .formatted(Page.root().resolve(".spectral.yaml"), document);
  }

  @Test
  void typescriptClientCallsAService() throws Exception {
    Files.writeString(FOLDER.resolve("page.ts"), Docs.blocks("service.md", "ts").get(0));
    try (Sluice sluice = Sluice.start(Settings.defaults(), RULES)) {
      run(Docs.named("service.md", "sh", "typescript.sh").replace(DEFAULT_URL, sluice.url()));
      run("npx tsc");

      assertThat(run("node out/client.js %s %s".formatted(sluice.url(), Sluice.TOKEN)).lines())
          .containsExactlyElementsOf(CALLS);
    }
  }

  @Test
  void javaClientCallsAService() throws Exception {
    Path classes = FOLDER.resolve("classes");
    try (Sluice sluice = Sluice.start(Settings.defaults(), RULES)) {
      run(Docs.named("service.md", "sh", "java.sh").replace(DEFAULT_URL, sluice.url()));
      JavaSources.in(Files.createDirectories(classes))
          .addAll(FOLDER.resolve("sluice-client/src/main/java"))
          .add("Client", Files.readString(SOURCES.resolve("Client.java")))
          .add("Snippet", snippet())
          .compile();

      String path = classes + File.pathSeparator + System.getProperty("java.class.path");
      assertThat(
              run("java -cp '%s' Client %s %s".formatted(path, sluice.url(), Sluice.TOKEN)).lines())
          .containsExactlyElementsOf(CALLS);
    }
  }

  /** The lines of Java below the command. */
  private static String snippet() {
    String lines =
        Docs.blocks("service.md", "java").stream()
            .filter(block -> block.contains("ApiClient"))
            .findFirst()
            .orElseThrow();
    return """
        import java.util.Map;
        import org.openapitools.client.ApiClient;
        import org.openapitools.client.api.DecisionsApi;
        import org.openapitools.client.model.Call;
        class Snippet {
          static void run() throws Exception {
            %s
          }
        }
        """
        .formatted(lines);
  }

  /** Runs commands in the folder of the clients. Fails if one of them does. */
  private static String run(String commands) throws Exception {
    Path script =
        Files.writeString(
            FOLDER.resolve("commands.sh"),
            """
            set -euo pipefail
            export HOME='%s' PATH='%s':"$PATH"
            command -v mvn >/dev/null || mvn() { '%s' "$@"; }
            %s
            """
                .formatted(home(), javaBin(), Page.root().resolve("mvnw"), commands));
    try (Program bash = Program.start(FOLDER, List.of("bash", script.toString()))) {
      int status = bash.await(300);
      assertThat(status).describedAs("%s\n%s", commands, bash.printed()).isZero();
      return bash.printed();
    }
  }

  /** npm and Maven have their settings and what they fetched before there. */
  private static String home() {
    return System.getenv().getOrDefault("HOME", System.getProperty("user.home"));
  }

  private static Path javaBin() throws IOException {
    return Path.of(System.getProperty("java.home"), "bin").toRealPath();
  }
}
