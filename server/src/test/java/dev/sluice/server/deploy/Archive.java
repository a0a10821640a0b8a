package dev.sluice.server.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.Program;
import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/** What {@code ./sluice package} makes, made once for all tests, from a copy of the sources. */
final class Archive {
  /*
   * The build that runs these tests has no jar of the service yet, and a second Maven in the same
   * folders could disturb it. So the command runs in a copy.
   */
  private static final Set<String> LEFT_OUT = Set.of("target", ".git", "test", "node_modules");
  private static final int BUILD_SECONDS = 900;

  private static Path file;

  private Archive() {}

  /** The sources of Sluice. */
  static Path root() {
    return Path.of("..").toAbsolutePath().normalize();
  }

  /** The archive. */
  static synchronized Path file() throws Exception {
    if (file == null) {
      Path copy = Path.of("target", "packaged").toAbsolutePath();
      Files.createDirectories(copy);
      copy(root(), copy);
      try (Program build = Program.start(copy, List.of("bash", "./sluice", "package"))) {
        assertThat(build.await(BUILD_SECONDS)).as(build.printed()).isZero();
        System.out.println(build.printed());
      }
      try (Stream<Path> found = Files.list(copy.resolve("target"))) {
        file = found.filter(each -> each.toString().endsWith(".tar.gz")).findFirst().orElseThrow();
      }
    }
    return file;
  }

  /** Unpacks the archive into an empty folder and returns its home there. */
  static Path unpack(Path folder) throws Exception {
    Files.createDirectories(folder);
    try (Program tar =
        Program.start(folder, List.of("tar", "-xzf", file().toString(), "-C", folder.toString()))) {
      assertThat(tar.await(120)).as(tar.printed()).isZero();
    }
    try (Stream<Path> found = Files.list(folder)) {
      return found.filter(Files::isDirectory).findFirst().orElseThrow();
    }
  }

  private static void copy(Path from, Path to) throws IOException {
    Files.walkFileTree(
        from,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult preVisitDirectory(Path folder, BasicFileAttributes attributes)
              throws IOException {
            if (LEFT_OUT.contains(folder.getFileName().toString())) {
              return FileVisitResult.SKIP_SUBTREE;
            }
            Files.createDirectories(to.resolve(from.relativize(folder)));
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
              throws IOException {
            Files.copy(
                file,
                to.resolve(from.relativize(file)),
                StandardCopyOption.REPLACE_EXISTING,
                StandardCopyOption.COPY_ATTRIBUTES);
            return FileVisitResult.CONTINUE;
          }
        });
  }
}
