package dev.sluice.server;

import static java.util.stream.Collectors.joining;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.server.Dashboard.Panel;
import dev.sluice.server.Dashboard.Target;
import dev.sluice.server.commands.Main;
import dev.sluice.testing.Needs;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The dashboard and the alerts of docs/monitoring on a real Prometheus, which scrapes a real
 * service under load.
 *
 * <p>It draws the dashboard to target/dashboard.svg. {@code -Dsluice.monitoring.pace=25} gives each
 * part of the load that many seconds, for the picture in docs/monitoring.
 */
@Tag("release")
class MonitoringIT {
  private static final String RATE_INTERVAL = "10s";
  private static final int PACE = Integer.getInteger("sluice.monitoring.pace", 0);

  /** The panels whose curves must leave zero under this load. */
  private static final Set<String> ABOVE_ZERO =
      Set.of(
          "Decisions",
          "Denied",
          "Latency p99",
          "Redis",
          "Rules refused",
          "Locked accounts",
          "Decisions per second",
          "Share of denials",
          "Where decisions were counted",
          "Denials by rule",
          "Denials of locked callers",
          "Shadow denials",
          "Decision latency",
          "Store faults",
          "Store down",
          "Degraded time",
          "Uncharged cost",
          "Foreign values",
          "Store warnings",
          "Overloads",
          "Rules",
          "Locked accounts over time",
          "CPU",
          "JVM memory",
          "JVM threads");

  @TempDir private Path directory;
  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  @Test
  @Needs("promtool")
  void everyAlertIsValidAndPassesItsTests() throws Exception {
    Path folder = Dashboard.FOLDER.toAbsolutePath().normalize();
    String checked =
        Program.run(directory, List.of("promtool", "check", "rules", folder + "/alerts.yaml"));
    String tested =
        Program.run(directory, List.of("promtool", "test", "rules", folder + "/alerts-test.yaml"));

    assertThat(checked).contains("SUCCESS: 9 rules found").doesNotContain("FAILED");
    assertThat(tested).contains("SUCCESS").doesNotContain("FAILED");
  }

  @Test
  @Needs("prometheus")
  void everyPanelShowsWhatHappened() throws Exception {
    Path rules = Files.writeString(directory.resolve("rules.yaml"), MonitoredLoad.RULES);
    int port = Program.freePort();
    try (RedisProcess redis = RedisProcess.start(RedisProcess.newest());
        Program service = Program.start(directory, serve(rules, port, redis))) {
      service.awaitPort(port);
      try (Prometheus prometheus =
              Prometheus.start(directory, port, Dashboard.FOLDER.resolve("alerts.yaml"));
          MonitoredLoad load = MonitoredLoad.start(port)) {
        prometheus.await("sluice_rules > 0");
        double from = now();
        trouble(prometheus, load, redis, rules, port);
        double to = now();

        Dashboard dashboard = Dashboard.read();
        String picture = DashboardPicture.draw(dashboard, prometheus, from, to, RATE_INTERVAL);
        Files.writeString(Path.of("target", "dashboard.svg"), picture);
        panelsShow(dashboard, prometheus, from, to);
        metricsExist(dashboard, scrape(port));
        alertsWork(prometheus);
      }
    }
  }

  /** Something of everything that the dashboard shows, each awaited in Prometheus. */
  private void trouble(
      Prometheus prometheus, MonitoredLoad load, RedisProcess redis, Path rules, int port)
      throws Exception {
    prometheus.await("sum(rate(sluice_decisions_total{outcome=\"allowed\"}[10s])) > 0");
    prometheus.await("sum(rate(sluice_shadow_decisions_total{outcome=\"denied\"}[10s])) > 0");
    prometheus.await("sum(rate(sluice_uncharged_total[10s])) > 0");
    pace();

    load.guessPasswords(true);
    prometheus.await(
        "sum(rate(sluice_decisions_total{outcome=\"denied\",locked=\"true\"}[10s])) > 0");
    prometheus.await("sluice_locks > 0");
    pace();
    load.guessPasswords(false);

    Files.writeString(rules, MonitoredLoad.RULES.replace("per 1m", "per fortnight"));
    overwriteAnAccount(redis);
    redis.command("CONFIG", "SET", "maxmemory", "100mb");
    redis.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
    prometheus.await("sluice_rules_refused == 1");
    prometheus.await("rate(sluice_store_foreign_values_total[10s]) > 0");
    prometheus.await("sluice_store_warnings > 0");
    prometheus.await("ALERTS{alertname=\"SluiceRulesRefused\"}");
    pace();
    redis.command("CONFIG", "SET", "maxmemory-policy", "noeviction");
    Files.writeString(rules, MonitoredLoad.RULES);
    prometheus.await("sluice_rules_refused == 0");
    prometheus.await("sluice_store_warnings == 0");

    outage(prometheus, load, redis, port);
    pace();
    redis.resume();
    prometheus.await("sluice_store_down == 0");
    pace();
  }

  /** Redis stops answering while many calls come at once, until one of them was one too many. */
  private void outage(Prometheus prometheus, MonitoredLoad load, RedisProcess redis, int port)
      throws Exception {
    redis.pause();
    load.manyAtOnce();
    for (int tries = 1; scrape(port).contains("sluice_overloads_total 0.0"); tries++) {
      assertThat(tries).describedAs("tries to overload the service").isLessThan(5);
      redis.resume();
      prometheus.await("sluice_store_down == 0");
      redis.pause();
      load.manyAtOnce();
    }
    prometheus.await("sluice_store_down == 1");
    prometheus.await("sum(rate(sluice_overloads_total[10s])) > 0");
    prometheus.await("sum(rate(sluice_store_faults_total[10s])) > 0");
    prometheus.await("rate(sluice_degraded_seconds_total[10s]) > 0");
    prometheus.await("sum(rate(sluice_decisions_total{outcome=\"unmetered\"}[10s])) > 0");
    prometheus.await("ALERTS{alertname=\"SluiceStoreDown\"}");
  }

  /** Another program writes to an account that the load uses, so the next call finds it. */
  private static void overwriteAnAccount(RedisProcess redis) {
    Matcher key =
        Pattern.compile("s2:\\{\\w+}:Pay:account=a1(?=\\s|$)")
            .matcher(redis.command("KEYS", "s2:*:Pay:account=a1"));
    assertThat(key.find()).isTrue();
    redis.command("SET", key.group(), "not ours");
  }

  private static void panelsShow(Dashboard dashboard, Prometheus prometheus, double from, double to)
      throws Exception {
    Set<String> shown = new TreeSet<>();
    for (Panel panel : dashboard.panels()) {
      for (Target target : panel.targets()) {
        String query = Dashboard.filled(target.expr(), RATE_INTERVAL);
        List<Prometheus.Series> found = prometheus.range(query, from, to, 1);

        assertThat(found).describedAs("%s: %s", panel.title(), query).isNotEmpty();
        if (found.stream().anyMatch(series -> series.most() > 0)) {
          shown.add(panel.title());
        }
      }
    }

    assertThat(shown).containsExactlyInAnyOrderElementsOf(ABOVE_ZERO);
  }

  /** A name in the dashboard or in the alerts that the service does not have is a mistake. */
  private static void metricsExist(Dashboard dashboard, String scrape) throws Exception {
    String alerts = Files.readString(Dashboard.FOLDER.resolve("alerts.yaml"));
    List<String> named = new ArrayList<>(Dashboard.metricsIn(alerts));
    named.addAll(Dashboard.metricsIn(dashboard.json().path("templating").toString()));
    for (Panel panel : dashboard.panels()) {
      panel.targets().forEach(target -> named.addAll(Dashboard.metricsIn(target.expr())));
    }
    Set<String> exposed =
        new TreeSet<>(
            Dashboard.metricsIn(
                scrape.lines().filter(line -> !line.startsWith("#")).collect(joining("\n"))));

    assertThat(named).hasSizeGreaterThan(20).isSubsetOf(exposed);
  }

  /** Prometheus evaluated every alert without an error, and those without a wait fire. */
  private static void alertsWork(Prometheus prometheus) throws Exception {
    List<JsonNode> rules = prometheus.rules();

    assertThat(rules).hasSize(9);
    Set<String> firing = new TreeSet<>();
    for (JsonNode rule : rules) {
      assertThat(rule.path("health").asText()).describedAs("%s", rule).isEqualTo("ok");
      assertThat(rule.path("alerts").toString()).doesNotContain("error expanding", "<no value>");
      if (rule.path("state").asText().equals("firing")) {
        firing.add(rule.path("name").asText());
      }
    }
    assertThat(firing).contains("SluiceOverloads", "SluiceForeignValues");
  }

  private String scrape(int port) throws Exception {
    URI metrics = URI.create("http://127.0.0.1:" + port + "/metrics");
    return client
        .send(HttpRequest.newBuilder(metrics).build(), HttpResponse.BodyHandlers.ofString())
        .body();
  }

  private List<String> serve(Path rules, int port, RedisProcess redis) {
    return List.of(
        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-Xmx256m",
        "-Duser.home=" + directory,
        "-cp",
        System.getProperty("java.class.path"),
        Main.class.getName(),
        "serve",
        "--port=" + port,
        "--rules=" + rules,
        "--admin-token=" + Sluice.TOKEN,
        "--max-in-flight=" + MonitoredLoad.MOST_AT_ONCE,
        "--store=" + redis.uri());
  }

  /** For the picture: the load goes on for a while. A test needs no such time. */
  private static void pace() throws InterruptedException {
    Thread.sleep(1000L * PACE);
  }

  private static double now() {
    return System.currentTimeMillis() / 1e3;
  }
}
