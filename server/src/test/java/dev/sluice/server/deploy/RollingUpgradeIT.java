package dev.sluice.server.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.sluice.redis.RedisLibraries;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.server.Program;
import dev.sluice.server.commands.Main;
import dev.sluice.testing.Needs;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Two versions on one Redis: two services are replaced, one after the other, by two whose Lua
 * library is another, while clients keep calling. A client whose service is gone asks the other,
 * with the same id.
 */
@Tag("release")
@Needs("redis-server")
class RollingUpgradeIT {
  private static final int CLIENTS = 6;
  private static final int TOTAL = 300;
  private static final int BURST = 10;
  private static final Duration PERIOD = Duration.ofSeconds(2);
  private static final List<String> LOGINS = List.of("ann", "bob", "cid");
  private static final String RULES =
      """
      facets: {login: {from: caller}}
      rules:
        Total: {by: [login], limit: %d per 1h}
        Burst: {by: [login], limits: [{sliding-log: {limit: %d, per: %ds}}]}
      """
          .formatted(TOTAL, BURST, PERIOD.toSeconds());

  private static final ObjectMapper MAPPER = new ObjectMapper();

  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  /** A call that was allowed; Redis decided it somewhere between these two times. */
  private record Allowed(long sentNanos, long answeredNanos) {}

  private final List<Integer> ports = new CopyOnWriteArrayList<>();
  private final AtomicBoolean isRolledOver = new AtomicBoolean();
  private final Map<String, Queue<Allowed>> allowed = new ConcurrentHashMap<>();
  private final Map<String, AtomicInteger> denied = new ConcurrentHashMap<>();
  private final Queue<String> errors = new ConcurrentLinkedQueue<>();
  private final AtomicInteger retries = new AtomicInteger();
  private final AtomicInteger calls = new AtomicInteger();

  @TempDir private Path directory;

  @Test
  void noWindowIsOverItsLimitAndNobodySeesAnError() throws Exception {
    Path rules = Files.writeString(directory.resolve("rules.yaml"), RULES);
    String now = System.getProperty("java.class.path");
    String next = changedLibrary() + File.pathSeparator + now;
    List<Program> running = new ArrayList<>();
    try (RedisProcess redis = RedisProcess.start(RedisProcess.Binary.SYSTEM)) {
      try {
        int one = start(now, rules, redis, running);
        int two = start(now, rules, redis, running);
        ports.addAll(List.of(one, two));
        List<Thread> clients = new ArrayList<>();
        for (int i = 0; i < CLIENTS; i++) {
          int number = i;
          Thread thread = new Thread(() -> keepCalling(number));
          thread.start();
          clients.add(thread);
        }
        awaitCalls(50);

        for (int old = 0; old < 2; old++) {
          int port = start(next, rules, redis, running);
          running.get(old).close(); // the clients still call it
          awaitCalls(calls.get() + 50);
          ports.set(old, port);
          awaitCalls(calls.get() + 50);
        }
        isRolledOver.set(true);
        for (Thread each : clients) {
          each.join(TimeUnit.SECONDS.toMillis(120));
          assertThat(each.isAlive()).isFalse();
        }

        try (RedisLibraries libraries = RedisLibraries.at(redis.uri())) {
          assertThat(libraries.list()).hasSize(2);
        }
      } finally {
        for (Program each : running) {
          each.close();
        }
      }
    }

    int most = 0;
    for (String login : LOGINS) {
      most = Math.max(most, mostInAPeriod(login));
    }
    System.out.printf(
        "Rolling upgrade: %,d calls, %d sent again to the other service, %d errors; allowed of %d: %s;"
            + " most in any %d s of a limit of %d: %d%n",
        calls.get(),
        retries.get(),
        errors.size(),
        TOTAL,
        LOGINS.stream().map(login -> login + " " + allowedOf("Total", login).size()).toList(),
        PERIOD.toSeconds(),
        BURST,
        most);
    assertThat(errors).isEmpty();
    for (String login : LOGINS) {
      assertThat(allowedOf("Total", login)).as(login).hasSize(TOTAL);
    }
    assertThat(most).isBetween(1, BURST);
  }

  /** A folder with one file of the library, which hides that of the jar: the digest is another. */
  private Path changedLibrary() throws IOException {
    String name = "dev/sluice/redis/run.lua";
    Path changed = directory.resolve("next").resolve(name);
    Files.createDirectories(changed.getParent());
    try (InputStream in = Main.class.getResourceAsStream("/" + name)) {
      Files.write(changed, in.readAllBytes());
    }
    Files.writeString(
        changed,
        "\nlocal function next_version() return 2 end\nnext_version()\n",
        StandardOpenOption.APPEND);
    return directory.resolve("next");
  }

  private int start(String classPath, Path rules, RedisProcess redis, List<Program> running)
      throws Exception {
    int port = Program.freePort();
    Program program =
        Program.start(
            directory,
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx128m",
                "-Duser.home=" + directory,
                "-cp",
                classPath,
                Main.class.getName(),
                "serve",
                "--port=" + port,
                "--rules=" + rules,
                "--require-store",
                // A busy machine keeps it: what is not counted by Redis is no part of this test.
                "--store-deadline=10s",
                "--drain-delay=500ms",
                "--store=" + redis.uri()));
    running.add(program);
    program.awaitPort(port);
    return port;
  }

  private void awaitCalls(int wanted) throws InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(120);
    while (calls.get() < wanted) {
      assertThat(System.nanoTime()).isLessThan(end);
      Thread.sleep(5); // the clients call other processes
    }
  }

  /** Calls until the upgrade is over and every account of the long window is used up. */
  private void keepCalling(int number) {
    try {
      for (int i = 0; !(isRolledOver.get() && isUsedUp()); i++) {
        String login = LOGINS.get((number + i) % LOGINS.size());
        String rule = (number + i / LOGINS.size()) % 2 == 0 ? "Total" : "Burst";
        call(rule, login, number + "-" + i, number + i);
      }
    } catch (Exception e) {
      errors.add(e.toString());
    }
  }

  private boolean isUsedUp() {
    return LOGINS.stream()
        .allMatch(login -> denied.getOrDefault("Total " + login, new AtomicInteger()).get() > 20);
  }

  private void call(String rule, String login, String id, int first) throws Exception {
    String body =
        "{\"rule\": \"%s\", \"identity\": {\"login\": \"%s\"}, \"id\": \"%s\"}"
            .formatted(rule, login, id);
    long sent = System.nanoTime();
    for (int tries = 0; tries < 10; tries++) {
      int port = ports.get((first + tries) % 2);
      HttpRequest request =
          HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/v1/check"))
              .timeout(Duration.ofSeconds(60))
              .POST(HttpRequest.BodyPublishers.ofString(body))
              .build();
      HttpResponse<String> response;
      try {
        response = client.send(request, HttpResponse.BodyHandlers.ofString());
      } catch (IOException e) {
        retries.incrementAndGet();
        continue; // that service is gone: the other one
      }
      note(rule, login, response, sent);
      return;
    }
    errors.add("no service answered");
  }

  private void note(String rule, String login, HttpResponse<String> response, long sent)
      throws IOException {
    long answered = System.nanoTime();
    calls.incrementAndGet();
    JsonNode answer = MAPPER.readTree(response.body());
    String countedBy = answer.path("countedBy").asText();
    if (response.statusCode() != 200 || !List.of("store", "cache").contains(countedBy)) {
      errors.add(response.statusCode() + " " + response.body());
    } else if (answer.path("allowed").asBoolean()) {
      allowedOf(rule, login).add(new Allowed(sent, answered));
    } else {
      denied.computeIfAbsent(rule + " " + login, unknown -> new AtomicInteger()).incrementAndGet();
    }
  }

  private Queue<Allowed> allowedOf(String rule, String login) {
    return allowed.computeIfAbsent(rule + " " + login, unknown -> new ConcurrentLinkedQueue<>());
  }

  /** The most calls that were surely decided within one period: sent and answered within it. */
  private int mostInAPeriod(String login) {
    List<Allowed> all = new ArrayList<>(allowedOf("Burst", login));
    all.sort(Comparator.comparingLong(Allowed::sentNanos));
    int most = 0;
    for (Allowed first : all) {
      long end = first.sentNanos + PERIOD.toNanos();
      long within =
          all.stream()
              .filter(each -> each.sentNanos >= first.sentNanos && each.answeredNanos < end)
              .count();
      most = Math.max(most, (int) within);
    }
    return most;
  }
}
