package dev.sluice.redis.prove;

import dev.sluice.redis.prove.Entry.Outcome;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** The processes that decide; each is a JVM of its own. */
final class Callers implements AutoCloseable {
  static final int PROCESSES = 4;

  private final List<Process> processes = new ArrayList<>();
  private final List<Thread> listeners = new ArrayList<>();
  private final Path folder;
  private final List<Map<Outcome, Long>> told = new ArrayList<>();

  private Callers(Path folder) {
    this.folder = folder;
  }

  static Callers start(String uri, Prove.Options options, Path folder) throws IOException {
    Callers callers = new Callers(folder);
    long start = Caller.now();
    for (int i = 0; i < PROCESSES; i++) {
      callers.told.add(Map.of());
      Process process =
          new ProcessBuilder(
                  Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                  "-Xmx256m",
                  "-XX:+UseSerialGC",
                  "-XX:TieredStopAtLevel=1",
                  "-cp",
                  System.getProperty("java.class.path"),
                  Caller.class.getName(),
                  uri,
                  Long.toString(options.seed() * PROCESSES + i),
                  Integer.toString(i),
                  Long.toString(Math.max(1, options.perSecond() / PROCESSES)),
                  Long.toString(start),
                  callers.history(i).toString(),
                  Boolean.toString(options.functions()))
              .redirectError(callers.log(i).toFile())
              .start();
      callers.processes.add(process);
      int number = i;
      Thread listener = new Thread(() -> callers.listen(number, process), "caller " + i);
      listener.setDaemon(true);
      listener.start();
      callers.listeners.add(listener);
    }
    return callers;
  }

  private Path history(int number) {
    return folder.resolve("caller" + number + ".history");
  }

  private Path log(int number) {
    return folder.resolve("caller" + number + ".log");
  }

  private void listen(int number, Process process) {
    try (BufferedReader lines = process.inputReader()) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        if (line.startsWith("decided ")) {
          String[] counts = line.substring("decided ".length()).split(" ", -1);
          Map<Outcome, Long> now = new EnumMap<>(Outcome.class);
          for (Outcome outcome : Outcome.values()) {
            now.put(outcome, Long.parseLong(counts[now.size()]));
          }
          synchronized (told) {
            told.set(number, now);
          }
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** How many decisions there are so far, by outcome. */
  Map<Outcome, Long> counts() {
    Map<Outcome, Long> sums = new EnumMap<>(Outcome.class);
    for (Outcome outcome : Outcome.values()) {
      sums.put(outcome, 0L);
    }
    synchronized (told) {
      told.forEach(one -> one.forEach((outcome, count) -> sums.merge(outcome, count, Long::sum)));
    }
    return sums;
  }

  /** Whether every process has decided something. */
  boolean allAsk() {
    synchronized (told) {
      return told.stream().allMatch(one -> one.getOrDefault(Outcome.ADMITTED, 0L) > 0);
    }
  }

  /** The processes that ended unexpectedly. */
  List<Integer> ended() {
    List<Integer> ended = new ArrayList<>();
    for (int i = 0; i < processes.size(); i++) {
      if (!processes.get(i).isAlive()) {
        ended.add(i);
      }
    }
    return ended;
  }

  void pause(int number) {
    signal(number, "STOP");
  }

  void resume(int number) {
    signal(number, "CONT");
  }

  private void signal(int number, String name) {
    try {
      String pid = Long.toString(processes.get(number).pid());
      new ProcessBuilder("kill", "-" + name, pid).start().waitFor();
    } catch (IOException | InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Has every process end, and reads what they wrote. */
  List<Entry> stop() throws IOException, InterruptedException {
    for (Process process : processes) {
      process.getOutputStream().close();
    }
    List<Entry> entries = new ArrayList<>();
    for (int i = 0; i < PROCESSES; i++) {
      if (!processes.get(i).waitFor(60, TimeUnit.SECONDS) || processes.get(i).exitValue() != 0) {
        throw new IOException(
            "process %d did not end well; its log:%n%s".formatted(i, Files.readString(log(i))));
      }
      listeners.get(i).join();
      Entry.readAll(history(i), entries);
    }
    return entries;
  }

  @Override
  public void close() {
    processes.forEach(Process::destroyForcibly);
  }
}
