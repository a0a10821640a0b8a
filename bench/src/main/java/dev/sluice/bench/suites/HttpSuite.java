package dev.sluice.bench.suites;

import dev.sluice.bench.contenders.BareServer;
import dev.sluice.bench.load.Progress;
import dev.sluice.bench.load.Rounds;
import dev.sluice.bench.load.Wrk;
import dev.sluice.bench.report.Figures;
import dev.sluice.bench.servers.RedisServer;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;
import java.util.stream.Stream;

/** Compares the service over HTTP with a bare handler of its framework, Armeria. */
public final class HttpSuite {
  /*
   * Each server runs in its own JVM with the same flags and libraries; wrk calls them in turns. The
   * difference to the bare handler is the work of the service: it reads the request, decides on the
   * memory store, counts, and writes a longer answer. A second service uses a Redis of the bench.
   * All calls of wrk are for one caller, so they hit one account.
   */
  private static final String SLUICE = "Sluice";
  private static final String ON_REDIS = "Sluice on Redis";
  private static final String BARE = "bare Armeria";

  /** The keys of the figures, with a placeholder for the path. */
  private static final Map<String, String> KEYS =
      Map.of(SLUICE, "http.%s.sluice", ON_REDIS, "http.redis.%s.sluice", BARE, "http.%s.bare");

  private static final Path BUILT = Path.of("server", "target");
  private static final String SLUICE_LISTENS = "Sluice listens on ";
  private static final String BODY =
      "{\"rule\":\"Open\",\"identity\":{\"login\":\"ann\"},\"cost\":1}";
  private static final String RULES =
      """
      facets:
        ip: client-address
        login: {query: login}
      rules:
        Open:
          by: [login]
          limits:
            - token-bucket: {capacity: 1000000000, refill: 1000000000, per: 1s}
        OpenGate:
          by: [ip]
          limits:
            - token-bucket: {capacity: 1000000000, refill: 1000000000, per: 1s}
      """;

  private static final List<String> PATHS = List.of(BareServer.CHECK, BareServer.GATE);

  /** What a service that was started just now is measured for. */
  private static final int COLD_SECONDS = 10;

  /** Half a minute for each server, on both paths together: until its code is compiled. */
  private static final List<Integer> WARM_UPS = List.of(5, 5, 5);

  /**
   * The lengths of a run.
   *
   * @param coldRounds how often each server is started anew for each path
   */
  record Pace(int coldRounds, int rounds, int seconds) {
    static Pace of(Extent extent) {
      return extent.isQuick() ? new Pace(1, 3, 2) : new Pace(3, 5, 4);
    }
  }

  private HttpSuite() {}

  /** The first seconds of a service that was started just now, on the memory store. */
  public static void cold(Extent extent, Figures figures) throws IOException {
    Wrk wrk = Wrk.find();
    List<String> serve = serve();
    Pace pace = Pace.of(extent);
    Progress progress = new Progress(extent.out(), 4 * pace.coldRounds);
    Map<String, List<Turn>> turns = new TreeMap<>();
    for (int round = 0; round < pace.coldRounds; round++) {
      for (String path : PATHS) {
        for (String name : List.of(BARE, SLUICE)) {
          progress.next(name + ", " + path + ", cold");
          try (Child child = name.equals(SLUICE) ? started(SLUICE, serve) : startedBare()) {
            turns
                .computeIfAbsent(path + name, key -> new ArrayList<>())
                .add(turn(wrk, child, path, COLD_SECONDS));
          }
        }
      }
    }
    progress.end();
    tell("check.cold", of(turns, BareServer.CHECK), figures);
    tell("gate.cold", of(turns, BareServer.GATE), figures);
  }

  public static void run(Extent extent, Figures figures) throws IOException {
    Wrk wrk = Wrk.find();
    List<String> serve = serve();
    try (RedisServer redis = RedisServer.start();
        Child sluice = started(SLUICE, serve);
        Child shared = started(ON_REDIS, on(redis, serve));
        Child armeria = startedBare()) {
      figures.measuredOn(redis.version());
      Pace pace = Pace.of(extent);
      Progress progress = new Progress(extent.out(), 6 * (WARM_UPS.size() + pace.rounds));
      measure(wrk, pace, List.of(armeria, sluice, shared), progress, figures);
      progress.end();
    }
  }

  /** The arguments of a service on the memory store. */
  private static List<String> serve() throws IOException {
    Path folder = Files.createTempDirectory("sluice-bench");
    Path rules = Files.writeString(folder.resolve("rules.yaml"), RULES);
    folder.toFile().deleteOnExit(); // in reverse order: the file below goes first
    rules.toFile().deleteOnExit();
    return List.of(
        "-jar",
        serviceJar().toString(),
        "serve",
        "--port=0",
        "--admin-token=only-for-the-bench",
        "--rules=" + rules);
  }

  private static Child started(String name, List<String> serve) throws IOException {
    return Child.start(name, serve, SLUICE_LISTENS);
  }

  private static Child startedBare() throws IOException {
    List<String> bare =
        List.of("-cp", classes() + ":" + BUILT.resolve("lib") + "/*", BareServer.class.getName());
    return Child.start(BARE, bare, BareServer.LISTENS);
  }

  /** With a long timeout, so that on a busy machine no call is allowed without Redis. */
  private static List<String> on(RedisServer redis, List<String> serve) {
    List<String> arguments = new ArrayList<>(serve);
    arguments.add("--store=" + redis.uri());
    arguments.add("--store-deadline=5s");
    return arguments;
  }

  private static void measure(
      Wrk wrk, Pace pace, List<Child> children, Progress progress, Figures figures)
      throws IOException {
    for (int seconds : WARM_UPS) {
      for (String path : PATHS) {
        for (Child child : children) {
          progress.next(child.name() + ", warming up");
          turn(wrk, child, path, seconds);
        }
      }
    }
    Map<String, List<Turn>> turns = new TreeMap<>();
    for (int round = 0; round < pace.rounds; round++) {
      for (String path : PATHS) {
        for (Child child : children) {
          progress.next(child.name() + ", " + path);
          turns
              .computeIfAbsent(path + child.name(), name -> new ArrayList<>())
              .add(turn(wrk, child, path, pace.seconds));
        }
      }
    }
    tell("check", of(turns, BareServer.CHECK), figures);
    tell("gate", of(turns, BareServer.GATE), figures);
  }

  private static Map<String, List<Turn>> of(Map<String, List<Turn>> turns, String path) {
    Map<String, List<Turn>> some = new TreeMap<>();
    turns.forEach(
        (key, those) -> {
          if (key.startsWith(path)) {
            some.put(key.substring(path.length()), those);
          }
        });
    return some;
  }

  /** The result of one measurement. */
  private record Turn(Wrk.Seen seen, double cpuMicros) {}

  private static Turn turn(Wrk wrk, Child child, String path, int seconds) throws IOException {
    Duration before = child.cpu();
    Wrk.Seen seen = wrk.run(child.url() + path, path.equals(BareServer.CHECK) ? BODY : "", seconds);
    double cpu = child.cpu().minus(before).toNanos() / 1e3;
    return new Turn(seen, cpu / seen.requests());
  }

  private static void tell(String path, Map<String, List<Turn>> turns, Figures figures) {
    figures.put("http." + path + ".vsBare", vsBare(turns, SLUICE));
    if (turns.containsKey(ON_REDIS)) {
      figures.put("http.redis." + path + ".vsBare", vsBare(turns, ON_REDIS));
    }
    turns.forEach(
        (name, those) -> {
          String key = KEYS.getOrDefault(name, name).formatted(path);
          figures.put(key + ".perSecond", median(those, turn -> turn.seen.perSecond()));
          figures.put(key + ".p50Micros", median(those, turn -> turn.seen.p50Micros()));
          figures.put(key + ".p99Micros", median(those, turn -> turn.seen.p99Micros()));
          figures.put(key + ".cpuMicros", median(those, Turn::cpuMicros));
        });
  }

  private static double vsBare(Map<String, List<Turn>> turns, String name) {
    List<Turn> sluice = turns.getOrDefault(name, List.of());
    List<Turn> bare = turns.getOrDefault(BARE, List.of());
    double[] ratios = new double[Math.min(sluice.size(), bare.size())];
    for (int i = 0; i < ratios.length; i++) {
      ratios[i] = sluice.get(i).seen.perSecond() / bare.get(i).seen.perSecond();
    }
    return Rounds.median(ratios);
  }

  private static double median(List<Turn> turns, ToDoubleFunction<Turn> figure) {
    return Rounds.median(turns.stream().mapToDouble(figure).toArray());
  }

  private static Path serviceJar() throws IOException {
    try (Stream<Path> files = Files.isDirectory(BUILT) ? Files.list(BUILT) : Stream.empty()) {
      return files
          .filter(file -> file.getFileName().toString().matches("sluice-server-.*\\.jar"))
          .filter(file -> !file.getFileName().toString().endsWith("-tests.jar"))
          .findFirst()
          .orElseThrow(
              () ->
                  new IllegalStateException(
                      BUILT.toAbsolutePath()
                          + ": no jar of the service (expected: started by ./sluice bench http)"));
    }
  }

  private static String classes() {
    return Path.of(BareServer.class.getProtectionDomain().getCodeSource().getLocation().getPath())
        .toString();
  }

  /** A server in its own JVM, which has printed its address. */
  private record Child(String name, Process process, String url) implements AutoCloseable {
    static Child start(String name, List<String> arguments, String greeting) throws IOException {
      List<String> command = new ArrayList<>();
      command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
      command.add("-XX:+UseParallelGC"); // as ./sluice serve
      command.addAll(arguments);
      Process process =
          new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
      Runtime.getRuntime().addShutdownHook(new Thread(process::destroy));
      BufferedReader said = process.inputReader(StandardCharsets.UTF_8);
      String line = said.readLine();
      if (line == null || !line.startsWith(greeting)) {
        process.destroy();
        throw new IllegalStateException(
            "%s: '%s' (expected: '%shttp://…')".formatted(arguments, line, greeting));
      }
      return new Child(name, process, line.substring(greeting.length()));
    }

    /** The CPU time used so far. */
    Duration cpu() {
      return process.info().totalCpuDuration().orElse(Duration.ZERO);
    }

    @Override
    public void close() {
      process.destroy();
      try {
        process.waitFor(5, TimeUnit.SECONDS); // so that its end does not slow down the next one
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
