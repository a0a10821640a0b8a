package dev.sluice.server;

import java.io.File;
import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * The sources of the project, copied: a test must not build where Maven is building already,
 * because the jars there are on the class path of this JVM.
 */
final class SourceTree {
  static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
  private static final Set<String> LEFT_OUT = Set.of("target", ".git", ".idea", "node_modules");
  private static final int MOST_SECONDS = 1_800;

  private SourceTree() {}

  /** Copies a folder of the project without what was built in it. */
  static Path copy(Path from, Path to) throws IOException {
    Files.walkFileTree(
        from,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult preVisitDirectory(Path folder, BasicFileAttributes attributes)
              throws IOException {
            if (LEFT_OUT.contains(String.valueOf(folder.getFileName()))) {
              return FileVisitResult.SKIP_SUBTREE;
            }
            Files.createDirectories(to.resolve(from.relativize(folder)));
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
              throws IOException {
            Files.copy(file, to.resolve(from.relativize(file)));
            return FileVisitResult.CONTINUE;
          }
        });
    return to;
  }

  /** Runs Maven, the one on the PATH or the wrapper, and gives what it printed. */
  static String maven(Path folder, String... arguments) throws Exception {
    boolean isThere =
        Arrays.stream(System.getenv("PATH").split(File.pathSeparator, -1))
            .anyMatch(directory -> Files.isExecutable(Path.of(directory, "mvn")));
    List<String> command = new ArrayList<>();
    command.addAll(isThere ? List.of("mvn") : List.of("sh", ROOT.resolve("mvnw").toString()));
    command.addAll(List.of("-B", "-ntp"));
    command.addAll(List.of(arguments));
    return run(folder, command);
  }

  /** Runs a command that must end well, and gives what it printed. */
  static String run(Path folder, List<String> command) throws Exception {
    Path output = Files.createTempFile("sluice", ".log");
    Process process =
        new ProcessBuilder(command)
            .directory(folder.toFile())
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    try {
      boolean ended = process.waitFor(MOST_SECONDS, TimeUnit.SECONDS);
      String printed = Files.readString(output);
      if (!ended || process.exitValue() != 0) {
        throw new AssertionError(
            "%s: %s (expected: exit code 0)\n%s"
                .formatted(command, ended ? process.exitValue() : "still running", printed));
      }
      return printed;
    } finally {
      process.destroy();
      Files.delete(output);
    }
  }
}
