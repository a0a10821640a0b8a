package dev.sluice.server;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** A program of the system that a test runs; its output goes to a file. */
public final class Program implements AutoCloseable {
  private final Process process;
  private final Path output;

  private Program(Process process, Path output) {
    this.process = process;
    this.output = output;
  }

  public static Program start(Path directory, List<String> command) throws IOException {
    Path output = Files.createTempFile(directory, "program", ".txt");
    ProcessBuilder builder =
        new ProcessBuilder(command)
            .directory(directory.toFile())
            .redirectErrorStream(true)
            .redirectOutput(output.toFile());
    // Caddy wants to keep its state somewhere.
    builder.environment().put("HOME", directory.toString());
    builder.environment().keySet().removeIf(name -> name.startsWith("SLUICE_"));
    return new Program(builder.start(), output);
  }

  /** Starts a program with this environment and nothing else in it. */
  public static Program start(Path directory, Map<String, String> environment, List<String> command)
      throws IOException {
    Path output = Files.createTempFile(directory, "program", ".txt");
    ProcessBuilder builder =
        new ProcessBuilder(command)
            .directory(directory.toFile())
            .redirectErrorStream(true)
            .redirectOutput(output.toFile());
    builder.environment().clear();
    builder.environment().putAll(environment);
    return new Program(builder.start(), output);
  }

  /** Runs a program to its end and gives what it printed. */
  public static String run(Path directory, List<String> command) throws Exception {
    try (Program program = start(directory, command)) {
      program.await(120);
      return program.printed();
    }
  }

  public Process process() {
    return process;
  }

  public String printed() throws IOException {
    return Files.readString(output);
  }

  public int await(int seconds) throws Exception {
    if (!process.waitFor(seconds, TimeUnit.SECONDS)) {
      throw new AssertionError("still running:\n" + printed());
    }
    return process.exitValue();
  }

  /** Waits until it listens. A process cannot tell us, so this has to look again and again. */
  public void awaitPort(int port) throws Exception {
    for (int i = 0; i < 600; i++) {
      try {
        new Socket(InetAddress.getLoopbackAddress(), port).close();
        return;
      } catch (IOException e) {
        if (!process.isAlive()) {
          throw new AssertionError("ended:\n" + printed(), e);
        }
        Thread.sleep(50); // another process starts: no clock of ours drives it
      }
    }
    throw new AssertionError("does not listen on " + port + ":\n" + printed());
  }

  public static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  @Override
  public void close() throws IOException {
    process.destroy();
    try {
      if (!process.waitFor(10, TimeUnit.SECONDS)) {
        process.destroyForcibly().waitFor();
      }
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }
}
