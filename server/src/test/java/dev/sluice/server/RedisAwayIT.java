package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.sluice.redis.testing.RedisCluster;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.server.api.ReceiptKeys;
import dev.sluice.server.commands.Main;
import dev.sluice.server.health.Meters;
import dev.sluice.server.http.Settings;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A service, as a process, whose Redis goes away or was never there. */
class RedisAwayIT {
  private static final String RULES =
      "rules: {SecureLogin: {by: [login], limit: 2 per 1d, onStoreFailure: allow}}";
  private static final String CALL = "{\"rule\":\"SecureLogin\",\"identity\":{\"login\":\"ann\"}}";

  private static final int UNCOUNTED = 20;

  @TempDir private Path directory;
  private RedisProcess redis;

  @BeforeEach
  void start() {
    redis = RedisProcess.start(RedisProcess.newest());
  }

  @AfterEach
  void end() {
    redis.close();
  }

  private Sluice open(String uri) {
    Meters meters = new Meters();
    return Sluice.start(
        Settings.defaults(),
        RULES,
        Stores.open(uri, Duration.ofSeconds(1), 1, true, false, true, meters::failed),
        meters,
        ReceiptKeys.ofProcess());
  }

  private static JsonNode health(Sluice sluice) {
    return sluice.get("/health/ready").json();
  }

  @Test
  void healthIsDegradedFromTheFirstUncountedCallUntilRedisIsBack() {
    try (Sluice sluice = open(redis.uri())) {
      RedisCluster.await(
          () -> sluice.post("/v1/check", CALL).json().path("countedBy").asText().equals("store"));
      assertThat(health(sluice).path("degraded").asBoolean()).isFalse();
      assertThat(health(sluice).has("reason")).isFalse();
      redis.kill();

      assertThat(sluice.post("/v1/check", CALL).json().path("outcome").asText())
          .isEqualTo("unmetered");
      assertThat(health(sluice).path("degraded").asBoolean()).isTrue();
      assertThat(health(sluice).path("reason").asText()).contains("Redis");

      redis.restart();
      RedisCluster.await(() -> !health(sluice).path("degraded").asBoolean());
    }
  }

  @Test
  void theConsoleShowsUncountedCallsDuringAnOutageAndAfterIt() {
    try (Sluice sluice = open(redis.uri())) {
      ConsoleSession before = ConsoleSession.begin(sluice, Sluice.TOKEN);
      RedisCluster.await(() -> before.get("overview").json().path("nodes").size() == 1);
      redis.kill();
      for (int i = 0; i < UNCOUNTED; i++) {
        assertThat(sluice.post("/v1/check", CALL).json().path("outcome").asText())
            .isEqualTo("unmetered");
      }

      RedisCluster.await(() -> uncounted(before) == UNCOUNTED);
      JsonNode overview = before.get("overview").json();
      assertThat(overview.path("store").path("trouble").asText()).isNotEmpty();
      assertThat(overview.path("nodes")).hasSize(1);

      redis.restart();
      RedisCluster.await(() -> !health(sluice).path("degraded").asBoolean());
      // This Redis has lost the session together with everything else.
      ConsoleSession after = ConsoleSession.begin(sluice, Sluice.TOKEN);
      RedisCluster.await(() -> after.get("overview").json().path("store").path("trouble").isNull());
      assertThat(uncounted(after)).isEqualTo(UNCOUNTED);
      RedisCluster.await(() -> Math.abs(charted(after) - UNCOUNTED) < 0.5);
    }
  }

  private static long uncounted(ConsoleSession session) {
    return session.get("overview").json().path("totals").path("unmetered").asLong();
  }

  /** The sum of the chart of uncounted calls; it has calls a second, of two seconds each. */
  private static double charted(ConsoleSession session) {
    double sum = 0;
    for (JsonNode perSecond : session.get("series?range=15m").json().path("unmetered")) {
      sum += 2 * perSecond.asDouble();
    }
    return sum;
  }

  @Test
  void healthIsDegradedIfRedisIsAwayFromTheStart() {
    redis.kill();
    try (Sluice sluice = open(redis.uri())) {
      assertThat(health(sluice).path("degraded").asBoolean()).isTrue();
      assertThat(health(sluice).path("reason").asText()).contains("cannot be reached");

      redis.restart();
      RedisCluster.await(() -> !health(sluice).path("degraded").asBoolean());
    }
  }

  @Test
  void theConsoleCanBeReadWhileRedisIsAway() {
    String lock = "{\"rule\": \"SecureLogin\", \"identity\": \"login=eve\", \"duration\": \"5m\"}";
    try (Sluice sluice = open(redis.uri())) {
      ConsoleSession console = ConsoleSession.begin(sluice, Sluice.TOKEN);
      assertThat(console.change("PUT", "locks", lock).status()).isEqualTo(200);
      redis.kill();
      sluice.post("/v1/check", CALL); // notices that Redis is away

      assertThat(console.get("session").json().path("operator").asText()).isEqualTo("admin");
      assertThat(console.get("overview").json().at("/store/trouble").asText()).contains("Redis");
      assertThat(console.get("rule-names").json().at("/names/0").asText()).isEqualTo("SecureLogin");
      JsonNode rules = console.get("rules").json();
      assertThat(rules.at("/rules/0/name").asText()).isEqualTo("SecureLogin");
      assertThat(rules.path("changesKnown").asBoolean()).isFalse();
      assertThat(console.get("locks").status()).isEqualTo(503);
      assertThat(console.change("PUT", "locks", lock).status()).as("a change").isEqualTo(503);
      assertThat(
              new ConsoleSession(sluice, "sluice-session=" + "0".repeat(64))
                  .get("overview")
                  .status())
          .as("a session that was never there")
          .isEqualTo(503);
    }
  }

  @Test
  void aWrongPasswordIsNamedInHealthReasonAndMetric() {
    redis.command("CONFIG", "SET", "requirepass", "geheim");
    try (Sluice sluice = open("redis://:falsch@127.0.0.1:" + redis.port())) {
      JsonNode decision = sluice.post("/v1/check", CALL).json();

      assertThat(decision.path("reason").asText()).contains("WRONGPASS");
      assertThat(health(sluice).path("reason").asText())
          .contains("WRONGPASS")
          .doesNotContain("falsch");
      RedisCluster.await(
          () ->
              sluice
                  .get("/metrics")
                  .response()
                  .body()
                  .contains("sluice_store_faults_total{kind=\"wrongpass\"} 1.0"));
    }
  }

  private Program serve(int port, String... more) throws Exception {
    Path rules = Files.writeString(directory.resolve("rules.yaml"), RULES);
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Duser.home=" + directory,
                "-cp",
                System.getProperty("java.class.path"),
                Main.class.getName(),
                "serve",
                "--port=" + port,
                "--rules=" + rules,
                "--admin-token=" + Sluice.TOKEN,
                "--store=" + redis.uri()));
    command.addAll(List.of(more));
    return Program.start(directory, command);
  }

  @Test
  void commandsPrintThatRedisIsAwayAndTheLogHasNoStackTrace() throws Exception {
    int port = Program.freePort();
    try (Program service = serve(port)) {
      service.awaitPort(port);
      redis.kill();
      List<String[]> commands =
          List.of(
              new String[] {"locks", "list"},
              new String[] {"locks", "set", "SecureLogin", "login=ann", "--for", "1m"},
              new String[] {"locks", "lift", "SecureLogin", "login=ann"},
              new String[] {"accounts", "show", "SecureLogin", "login=ann"},
              new String[] {"accounts", "reset", "SecureLogin", "login=ann"});
      for (String[] words : commands) {
        List<String> all = new ArrayList<>(List.of(words));
        all.addAll(List.of("--url", "http://127.0.0.1:" + port, "--token", Sluice.TOKEN));
        CommandsTest.Ended ended = CommandsTest.run(all.toArray(new String[0]));

        assertThat(ended.status()).describedAs("%s", all).isEqualTo(1);
        assertThat(ended.err()).describedAs("%s", all).startsWith("sluice: store: ");
        assertThat(ended.err()).describedAs("%s", all).contains("Redis");
      }
      assertThat(service.printed()).doesNotContain("\tat ", "Exception");
    }
  }

  @Test
  void aServiceThatRequiresItsStoreDoesNotStartWithoutIt() throws Exception {
    redis.kill();
    try (Program service = serve(Program.freePort(), "--require-store")) {
      assertThat(service.await(60)).isEqualTo(1);
      assertThat(service.printed())
          .contains(
              "sluice: not started, because --require-store is set and Redis does not answer: Redis at 127.0.0.1:")
          .contains("cannot be reached")
          .doesNotContain("Sluice listens", "\tat ");
    }
  }

  @Test
  void aServiceThatRequiresItsStoreStartsWithIt() throws Exception {
    int port = Program.freePort();
    try (Program service = serve(port, "--require-store=true")) {
      service.awaitPort(port);
    }
  }
}
