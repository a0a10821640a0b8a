package dev.sluice.redis.mutants;

import dev.sluice.redis.testing.RedisProcess;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.jspecify.annotations.Nullable;

/**
 * The program behind {@code ./sluice mutants}: seeds one bug after the other, and runs the tests
 * that must find it.
 */
final class Mutants implements AutoCloseable {
  /*
   * Nothing of the tree is changed. What was compiled is copied once. A bug is a folder that stands
   * before all that in the class path: with the changed Lua file, or with the classes of the changed
   * Java file. Each trial is a process of its own, so a bug that never ends can be ended.
   */
  private static final String USAGE =
      """
      usage: ./sluice mutants [--only TEXT] [--list]

        --only TEXT  only the bugs with this in their file's name or their description; more than once
                     if you like
        --list       name the bugs, and seed none

      The bugs are in redis/src/test/mutants. All of them take about 10 minutes on two cores.

      exit code: 0 every bug was caught, 1 one was not, or cannot be seeded any more, 2 wrong usage,
      3 the tests fail without any bug, or the run was not completed
      """;

  private static final Path LISTS = Path.of("redis/src/test/mutants");
  private static final Duration LEAST_PATIENCE = Duration.ofMinutes(2);
  private static final int PATIENCE = 5;
  private static final int ATTEMPTS = 3;

  /** What Redis says of a text that it cannot run: every test would find that. */
  private static final Pattern NO_LUA =
      Pattern.compile("[^\\n]*([Ee]rror compiling|nonexistent global variable)[^\\n]*");

  private final PrintStream out;
  private final Path folder;
  private final String classPath;
  private @Nullable Process running;

  /** Bugs, and the tests that must find them, the quickest first. */
  private record Group(List<Mutant> mutants, List<String> tests) {
    Group only(List<String> texts) {
      return new Group(
          mutants.stream()
              .filter(each -> texts.isEmpty() || texts.stream().anyMatch(each::has))
              .toList(),
          tests);
    }
  }

  /**
   * How a trial ended.
   *
   * @param code that of {@link Trial}, or -1 if it did not end
   * @param test the test that failed
   * @param id by which that test can be run alone
   */
  private record Outcome(int code, String test, String id, Duration took) {
    Outcome after(Duration before) {
      return new Outcome(code, test, id, took.plus(before));
    }
  }

  private Mutants(PrintStream out) throws IOException {
    this.out = out;
    this.folder = Files.createTempDirectory("sluice-mutants");
    Runtime.getRuntime().addShutdownHook(new Thread(this::close));
    this.classPath = copiedClassPath();
  }

  public static void main(String[] arguments) throws Exception {
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    List<String> only = new ArrayList<>();
    boolean lists = false;
    for (int i = 0; i < arguments.length; i++) {
      if (arguments[i].equals("--help") || arguments[i].equals("-h")) {
        out.print(USAGE);
        return;
      } else if (arguments[i].equals("--list")) {
        lists = true;
      } else if (arguments[i].equals("--only") && i + 1 < arguments.length) {
        i++;
        only.add(arguments[i]);
      } else {
        System.err.println("mutants: " + arguments[i] + " (expected: --only TEXT or --list)");
        System.err.print(USAGE);
        System.exit(2);
      }
    }
    List<Group> groups = new ArrayList<>();
    for (Group group : List.of(java(), lua())) {
      groups.add(group.only(only));
    }
    List<Mutant> all = groups.stream().flatMap(group -> group.mutants.stream()).toList();
    if (lists) {
      all.forEach(out::println);
      return;
    }
    if (all.isEmpty()) {
      System.err.println(
          "mutants: --only " + String.join(", ", only) + ": no bug has this (see: --list)");
      System.exit(2);
    }
    try {
      System.exit(canBeSeeded(all, out) ? run(groups, all.size(), out) : 1);
    } catch (NotSeededException e) {
      out.println("  cannot be seeded: " + e.getMessage());
      System.exit(1);
    } catch (IOException | RuntimeException e) {
      e.printStackTrace();
      System.err.println("mutants: the run was not completed");
      System.exit(3);
    }
  }

  /** That a text with a bug in it is no program at all. */
  private static final class NotSeededException extends RuntimeException {
    private static final long serialVersionUID = 1;

    NotSeededException(String said) {
      super(said);
    }
  }

  private static Group java() throws IOException {
    return new Group(
        Mutant.read(LISTS.resolve("java.txt"), Path.of("core/src/main/java/dev/sluice/memory")),
        List.of(
            "dev.sluice.memory.MemoryStoreTest",
            "dev.sluice.memory.MemoryHistoriesTest",
            "dev.sluice.memory.RegisterTest"));
  }

  private static Group lua() throws IOException {
    boolean isSeven = RedisProcess.newest() == RedisProcess.Binary.SYSTEM;
    return new Group(
        Mutant.read(LISTS.resolve("lua.txt"), Path.of("redis/src/main/resources/dev/sluice/redis")),
        List.of(
            "dev.sluice.redis.RedisStoreIT$" + (isSeven ? "OnRedis7" : "OnRedis6"),
            "dev.sluice.redis.wire.PlainWayIT",
            "dev.sluice.redis.wire.WorkIT",
            "dev.sluice.redis.TwinIT",
            "dev.sluice.redis.LargeTwinIT",
            "dev.sluice.redis.TtlIT",
            "dev.sluice.redis.LocksIT#keyOfTheIndexOutlivesItsLastLockAndNotByMuch",
            "dev.sluice.redis.LocksIT#resetLiftAndTheEndTakeALockOutOfTheIndex",
            "dev.sluice.redis.CallIdsIT",
            "dev.sluice.redis.ForeignValuesIT",
            "dev.sluice.redis.ClockIT"));
  }

  /** Names the bugs whose text is no longer where it was. */
  private static boolean canBeSeeded(List<Mutant> mutants, PrintStream out) throws IOException {
    int lost = 0;
    for (Mutant mutant : mutants) {
      int places = mutant.places();
      if (places != 1) {
        lost++;
        out.printf(
            "%s%n  cannot be seeded: its text is there %d times (expected: once)%n",
            mutant, places);
      }
    }
    if (lost > 0) {
      out.printf("%d of %d bugs cannot be seeded; see %s%n", lost, mutants.size(), LISTS);
    }
    return lost == 0;
  }

  private static int run(List<Group> groups, int total, PrintStream out)
      throws IOException, InterruptedException {
    List<Mutant> survivors = new ArrayList<>();
    long start = System.nanoTime();
    try (Mutants mutants = new Mutants(out)) {
      int number = 0;
      for (Group group : groups) {
        if (group.mutants.isEmpty()) {
          continue;
        }
        out.println("Without a bug: " + String.join(", ", simpleNames(group.tests)));
        Outcome without = mutants.tryOut(group.tests, null, Duration.ofMinutes(10));
        if (without.code != Trial.PASSED) {
          out.println(mutants.log());
          out.printf("  fails: %s. So nothing can be said about bugs.%n", without.test);
          return 3;
        }
        out.printf("  passes, %d s%n", without.took.toSeconds());
        Duration patience = without.took.multipliedBy(PATIENCE);
        patience = patience.compareTo(LEAST_PATIENCE) < 0 ? LEAST_PATIENCE : patience;
        for (Mutant mutant : group.mutants) {
          number++;
          out.printf("%d of %d  %s%n", number, total, mutant);
          Outcome outcome = mutants.tryOut(group.tests, mutant, patience);
          if (outcome.code == Trial.PASSED) {
            survivors.add(mutant);
          }
          out.printf(
              "  %s, %d s%n",
              outcome.code == Trial.PASSED ? "SURVIVES" : "caught by " + outcome.test,
              outcome.took.toSeconds());
        }
      }
    }
    long minutes = Duration.ofNanos(System.nanoTime() - start).toMinutes();
    out.println();
    survivors.forEach(each -> out.println("Survivor: " + each));
    out.printf(
        "%d seeded bugs, %d caught, in %d minutes%n", total, total - survivors.size(), minutes);
    return survivors.isEmpty() ? 0 : 1;
  }

  private static List<String> simpleNames(List<String> tests) {
    return tests.stream()
        .map(name -> name.substring(name.lastIndexOf('.') + 1).replace('$', '.'))
        .toList();
  }

  /**
   * Runs tests with a bug, or without one. A test that fails must fail again: on a busy machine,
   * one may fail for want of time.
   */
  private Outcome tryOut(List<String> tests, @Nullable Mutant mutant, Duration patience)
      throws IOException, InterruptedException {
    Path changed = folder.resolve("changed");
    delete(changed);
    Files.createDirectories(changed);
    if (mutant != null) {
      seed(mutant, changed);
    }
    Duration before = Duration.ZERO;
    for (int i = 0; i < ATTEMPTS; i++) {
      Outcome outcome = run(tests, patience).after(before);
      if (outcome.code != Trial.FAILED) {
        return outcome;
      }
      Outcome again = run(List.of(outcome.id), patience);
      if (again.code != Trial.PASSED) {
        return outcome.after(again.took);
      }
      out.printf("  failed once, but not again: %s%n", outcome.test);
      before = outcome.took.plus(again.took);
    }
    return new Outcome(Trial.PASSED, "", "", before);
  }

  private Outcome run(List<String> tests, Duration patience)
      throws IOException, InterruptedException {
    Path result = folder.resolve("result");
    Path scratch = folder.resolve("scratch");
    delete(result);
    delete(scratch);
    Files.createDirectories(scratch);
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx512m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-Djava.io.tmpdir=" + scratch,
                "-Dsluice.twins=" + System.getProperty("sluice.twins", "2000"),
                "-Dsluice.histories=" + System.getProperty("sluice.histories", "5000"),
                "-cp",
                folder.resolve("changed") + File.pathSeparator + classPath,
                Trial.class.getName(),
                result.toString()));
    command.addAll(tests);
    long start = System.nanoTime();
    Process process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve("log").toFile())
            .start();
    running = process;
    boolean ends = process.waitFor(patience.toSeconds(), TimeUnit.SECONDS);
    end(process);
    Duration took = Duration.ofNanos(System.nanoTime() - start);
    if (!ends) {
      return new Outcome(-1, "a test that does not end", "", took);
    }
    int code = process.exitValue();
    Matcher noLua = NO_LUA.matcher(log());
    if (code != Trial.PASSED && noLua.find()) {
      throw new NotSeededException(noLua.group());
    }
    if (code != Trial.PASSED && code != Trial.FAILED) {
      throw new IllegalStateException("the tests ended with exit code " + code + "\n" + log());
    }
    List<String> failed = code == Trial.PASSED ? List.of("", "") : Files.readAllLines(result);
    return new Outcome(code, failed.get(0), failed.get(1), took);
  }

  private void seed(Mutant mutant, Path changed) throws IOException {
    String home = mutant.isJava() ? "dev/sluice/memory" : "dev/sluice/redis";
    Path file = changed.resolve(home).resolve(mutant.file().getFileName());
    Files.createDirectories(file.getParent());
    Files.writeString(file, mutant.source());
    if (mutant.isJava()) {
      ByteArrayOutputStream said = new ByteArrayOutputStream();
      int code =
          ToolProvider.getSystemJavaCompiler()
              .run(
                  null,
                  said,
                  said,
                  "-nowarn",
                  "-proc:none",
                  "-cp",
                  classPath,
                  "-d",
                  changed.toString(),
                  file.toString());
      if (code != 0) {
        throw new NotSeededException(said.toString(StandardCharsets.UTF_8));
      }
    }
  }

  /** The class path of this process, with a copy of all that lies in the tree. */
  private String copiedClassPath() throws IOException {
    Path tree = Path.of("").toAbsolutePath();
    List<String> entries = new ArrayList<>();
    for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
      Path path = Path.of(entry).toAbsolutePath();
      if (!path.startsWith(tree)) {
        entries.add(entry);
      } else if (Files.exists(path)) {
        Path copy = folder.resolve("compiled" + entries.size()).resolve(path.getFileName());
        copy(path, copy);
        entries.add(copy.toString());
      }
    }
    return String.join(File.pathSeparator, entries);
  }

  private static void copy(Path from, Path to) throws IOException {
    try (Stream<Path> paths = Files.walk(from)) {
      for (Path path : paths.toList()) {
        Path target = to.resolve(from.relativize(path).toString());
        if (Files.isDirectory(path)) {
          Files.createDirectories(target);
        } else {
          Files.createDirectories(target.getParent());
          Files.copy(path, target);
        }
      }
    }
  }

  private static void delete(Path path) throws IOException {
    if (!Files.exists(path)) {
      return;
    }
    try (Stream<Path> paths = Files.walk(path)) {
      for (Path each : paths.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(each);
      }
    }
  }

  private String log() throws IOException {
    return Files.readString(folder.resolve("log"));
  }

  /** Ends a process and the servers that it has started. */
  private static void end(Process process) {
    process.descendants().forEach(ProcessHandle::destroyForcibly);
    process.destroyForcibly();
  }

  /** Comes at the end, and also when somebody ends the run. */
  @Override
  public void close() {
    Process process = running;
    if (process != null) {
      end(process);
    }
    try {
      delete(folder);
    } catch (IOException | UncheckedIOException e) {
      // a file went away meanwhile: the other of the two is at it
    }
  }
}
