package dev.sluice.rules.source;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.sluice.RuleSource;
import dev.sluice.rules.BadFiles;
import dev.sluice.rules.RuleErrors;
import dev.sluice.rules.RuleFiles;
import dev.sluice.rules.Until;
import dev.sluice.testing.Needs;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

public class FileRulesTest {
  private static final Duration SECOND = Duration.ofSeconds(1);
  private static final Duration LONG = Duration.ofSeconds(10);

  @TempDir Path directory;
  private Path file;
  private FileRules source;

  @BeforeEach
  void watch() throws IOException {
    file = directory.resolve("rules.yaml");
    Files.writeString(file, text(1));
    source = FileRules.watch(file);
  }

  @AfterEach
  void close() {
    source.close();
  }

  static String text(int limit) {
    return "rules:\n  a: {limit: %d per 1h}\n".formatted(limit);
  }

  private static boolean has(RuleSource source, int limit) {
    return source.rules().equals(RuleFiles.parse("r.yaml", text(limit)));
  }

  private static void live(RuleSource source, int limit) {
    Until.within(SECOND, "limit " + limit, () -> has(source, limit));
  }

  /** Writes beside the file, then renames over it. */
  public static void rename(Path file, String text) throws IOException {
    Path next = file.resolveSibling(".next");
    Files.writeString(next, text);
    Files.move(next, file, StandardCopyOption.ATOMIC_MOVE);
  }

  // ---- A change arrives -----------------------------------------------------------------------

  @Test
  void fileWrittenInPlaceIsLiveWithinASecond() throws IOException {
    for (int limit = 2; limit < 6; limit++) {
      Files.writeString(file, text(limit));
      live(source, limit);
    }
  }

  @Test
  void fileRenamedIntoPlaceIsLiveWithinASecond() throws IOException {
    for (int limit = 2; limit < 6; limit++) {
      rename(file, text(limit));
      live(source, limit);
    }
  }

  @Test
  void changeOfTheSameLengthAndTimeIsLive() throws IOException {
    var time = Files.getLastModifiedTime(file);

    Files.writeString(file, text(2));
    Files.setLastModifiedTime(file, time);

    live(source, 2);
  }

  @Test
  void symlinkSwapOfAConfigMapIsLiveWithinASecond() throws IOException {
    Path volume = Files.createDirectory(directory.resolve("volume"));
    swap(volume, "..1", text(1));
    Path mounted = volume.resolve("rules.yaml");
    Files.createSymbolicLink(mounted, Path.of("..data", "rules.yaml"));

    try (FileRules source = FileRules.watch(mounted)) {
      for (int limit = 2; limit < 6; limit++) {
        swap(volume, ".." + limit, text(limit));
        live(source, limit);
        Files.delete(volume.resolve(".." + (limit - 1)).resolve("rules.yaml"));
        Files.delete(volume.resolve(".." + (limit - 1)));
      }
      assertThat(source.failure()).isEmpty();
    }
  }

  /** As a kubelet does: a new directory, a new link to it, renamed over "..data". */
  private static void swap(Path volume, String version, String text) throws IOException {
    Files.writeString(Files.createDirectory(volume.resolve(version)).resolve("rules.yaml"), text);
    Path link = Files.createSymbolicLink(volume.resolve("..data_tmp"), Path.of(version));
    Files.move(link, volume.resolve("..data"), StandardCopyOption.ATOMIC_MOVE);
  }

  @Test
  void targetOfALinkElsewhereIsFollowed() throws IOException {
    Path link = Files.createDirectory(directory.resolve("links")).resolve("rules.yaml");
    Files.createSymbolicLink(link, file);

    try (FileRules source = FileRules.watch(link)) {
      Files.writeString(file, text(20));
      live(source, 20);
      rename(file, text(30));
      live(source, 30);
    }
  }

  @Test
  void directoryPutInAnothersPlaceIsFollowed() throws IOException {
    Path home = Files.createDirectory(directory.resolve("home"));
    Path inside = Files.writeString(home.resolve("rules.yaml"), text(1));

    try (FileRules source = FileRules.watch(inside)) {
      Files.move(home, directory.resolve("old"));
      Until.within(SECOND, "missing", () -> source.failure().isPresent());
      Files.createDirectory(home);
      Files.writeString(inside, text(2));
      live(source, 2);
      rename(inside, text(3));
      live(source, 3);
      assertThat(source.failure()).isEmpty();
    }
  }

  @Test
  void halfWrittenFileIsNeverLive() throws IOException {
    String whole = text(2) + "  b: {limit: 1 per 1s}\n";
    int half = text(2).length();
    Files.writeString(file, whole);
    Until.within(SECOND, "two rules", () -> source.rules().size() == 2);

    // Emptied and then written in two strokes, as an editor may; each part but the first would
    // load.
    for (int i = 0; i < 20; i++) {
      try (FileChannel out =
          FileChannel.open(file, StandardOpenOption.WRITE, StandardOpenOption.TRUNCATE_EXISTING)) {
        out.write(ByteBuffer.wrap(BadFiles.utf8(whole.substring(0, half))));
        out.write(ByteBuffer.wrap(BadFiles.utf8(whole.substring(half))));
      }
      long end = System.nanoTime() + Duration.ofMillis(20).toNanos();
      while (System.nanoTime() < end) {
        assertThat(source.rules().size()).isEqualTo(2);
      }
    }
    // On a busy machine the writer may pause while the file is empty; that is a failure until it
    // goes on.
    Until.within(LONG, "no failure", () -> source.failure().isEmpty());
  }

  // ---- A bad change does not ------------------------------------------------------------------

  @Test
  void badFileIsRefusedAsAWholeAndReportedWithItsTime() throws IOException {
    Instant before = Instant.now();
    String bad = "rules:\n  a: {limit: 9 per 1h}\n  b: {limit: 0 per 1h}\n";
    String complaint = file + ":3  rule 'b': limit is 0 (expected: at least 1)";

    rename(file, bad);
    Until.within(SECOND, "refused", () -> source.failure().isPresent());

    RuleSource.Failure failure = source.failure().orElseThrow();
    assertThat(failure.message()).isEqualTo(complaint);
    assertThat(failure.since()).isBetween(before, Instant.now());
    assertThat(has(source, 1)).isTrue();

    rename(file, "rules: 5\n");
    Until.within(
        SECOND,
        "the next mistake",
        () -> !source.failure().orElseThrow().message().equals(complaint));
    assertThat(source.failure().orElseThrow().since())
        .as("it has been failing since the first")
        .isEqualTo(failure.since());

    rename(file, text(1));
    Until.within(SECOND, "good again", () -> source.failure().isEmpty());
    assertThat(has(source, 1)).isTrue();
  }

  @Test
  void mistakesAreLoggedOnce() throws IOException {
    Logger logger = (Logger) LoggerFactory.getLogger(RuleSource.class);
    ListAppender<ILoggingEvent> logged = new ListAppender<>();
    logged.start();
    logger.addAppender(logged);
    try {
      rename(file, text(0));
      Until.within(SECOND, "refused", () -> source.failure().isPresent());
      rename(file, text(0) + "# still bad");
      rename(file, text(2));
      live(source, 2);

      assertThat(logged.list)
          .filteredOn(event -> event.getLevel() == Level.ERROR)
          .extracting(ILoggingEvent::getFormattedMessage)
          .containsExactly(
              "%1$s: refused, the rules from before stay in force:\n%1$s:2  rule 'a': limit is 0 (expected: at least 1)"
                  .formatted(file));
    } finally {
      logger.detachAppender(logged);
    }
  }

  @Test
  void doubtsAreLoggedWithTheRulesThatHaveThem() throws IOException {
    Logger logger = (Logger) LoggerFactory.getLogger(RuleSource.class);
    ListAppender<ILoggingEvent> logged = new ListAppender<>();
    logged.start();
    logger.addAppender(logged);
    try {
      rename(file, "rules: {a: {limit: 2 per 1h, lock: 1m}}");
      Until.within(SECOND, "in force", () -> !source.rules().warnings().isEmpty());
      Until.within(SECOND, "logged", () -> logged.list.size() > 1);

      assertThat(logged.list)
          .filteredOn(event -> event.getLevel() == Level.WARN)
          .extracting(ILoggingEvent::getFormattedMessage)
          .containsExactly(
              file
                  + ":1  warning: rule 'a': lock is 1m, and the limit by itself keeps callers out"
                  + " for 1h: nobody will notice the lock (expected: at least 1h)");
    } finally {
      logger.detachAppender(logged);
    }
  }

  @Test
  void deletedFileKeepsItsRules() throws IOException {
    Files.delete(file);
    Until.within(SECOND, "missing", () -> source.failure().isPresent());

    assertThat(source.failure().orElseThrow().message()).contains("there is no such file");
    assertThat(has(source, 1)).isTrue();

    Files.writeString(file, text(2));
    live(source, 2);
    assertThat(source.failure()).isEmpty();
  }

  @Test
  void fileThatIsBadFromTheStartIsAnError() throws IOException {
    Path bad = Files.writeString(directory.resolve("bad.yaml"), text(0));

    assertThatThrownBy(() -> FileRules.watch(bad))
        .isInstanceOf(RuleErrors.class)
        .hasMessage(bad + ":2  rule 'a': limit is 0 (expected: at least 1)");
  }

  @Test
  void fileBehindALinkThatCouldNotBeReadOnceIsTriedAgain() throws IOException {
    Path link = Files.createDirectory(directory.resolve("links")).resolve("rules.yaml");
    Files.createSymbolicLink(link, file);
    AtomicInteger failing = new AtomicInteger();

    try (FileRules source =
        FileRules.watch(
            link,
            path -> {
              if (failing.get() > 0) {
                failing.decrementAndGet();
                throw RuleErrors.of(path.toString(), 0, "cannot be read: no access", "expected: …");
              }
              return RuleFiles.bytes(path);
            })) {
      failing.set(1);
      rename(file, text(2));

      Until.within(LONG, "limit 2", () -> has(source, 2));
      assertThat(source.failure()).isEmpty();
    }
  }

  @Test
  void errorWhileAFileIsReadIsReportedAndItIsTriedAgain() throws IOException {
    AtomicReference<Error> thrown = new AtomicReference<>();

    try (FileRules source =
        FileRules.watch(
            file,
            path -> {
              if (thrown.get() != null) {
                throw thrown.get();
              }
              return RuleFiles.bytes(path);
            })) {
      thrown.set(new OutOfMemoryError("heap"));
      rename(file, text(2));
      Until.within(LONG, "reported", () -> source.failure().isPresent());
      assertThat(source.failure().orElseThrow().message())
          .isEqualTo("java.lang.OutOfMemoryError: heap");

      thrown.set(null);

      Until.within(LONG, "limit 2", () -> has(source, 2));
      Until.within(LONG, "good again", () -> source.failure().isEmpty());
    }
  }

  @Test
  @Needs("mkfifo")
  void pipeInThePlaceOfTheFileIsRefusedAndTheFileIsFollowedAfterwards() throws Exception {
    Path pipe = directory.resolve("pipe");
    assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isZero();

    Files.move(pipe, file, StandardCopyOption.ATOMIC_MOVE);
    Until.within(LONG, "refused", () -> source.failure().isPresent());
    assertThat(source.failure().orElseThrow().message())
        .isEqualTo(file + "  is not a regular file (expected: a rule file)");
    assertThat(has(source, 1)).isTrue();

    rename(file, text(2));
    Until.within(LONG, "limit 2", () -> has(source, 2));
    assertThat(source.failure()).isEmpty();
  }

  @Test
  @Needs("mkfifo")
  void pipeOrDirectoryIsNoRuleFileFromTheStart() throws Exception {
    Path pipe = directory.resolve("pipe.yaml");
    assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isZero();

    for (Path other : List.of(pipe, directory)) {
      assertThatThrownBy(() -> FileRules.watch(other))
          .isInstanceOf(RuleErrors.class)
          .hasMessage(other + "  is not a regular file (expected: a rule file)");
    }
  }

  @Test
  void hugeFileIsRefusedByItsSize() throws IOException {
    Path next = directory.resolve(".next");
    try (RandomAccessFile huge = new RandomAccessFile(next.toFile(), "rw")) {
      huge.setLength(10L << 30);
    }
    Files.move(next, file, StandardCopyOption.ATOMIC_MOVE);

    Until.within(LONG, "refused", () -> source.failure().isPresent());
    assertThat(source.failure().orElseThrow().message())
        .isEqualTo(file + "  the file has 10,737,418,240 bytes (expected: at most 1,048,576)");
    assertThat(has(source, 1)).isTrue();
  }

  // ---- Nothing is left behind -----------------------------------------------------------------

  @Test
  void thousandReloadsLeaveNoThreadAndNoFileOpen() throws IOException {
    assumeTrue(Files.isDirectory(Path.of("/proc/self/fd")), "no /proc/self/fd");
    for (int i = 2; i < 12; i++) {
      reload(i);
    }
    long threads = Thread.getAllStackTraces().size();
    long files = openFiles();

    for (int i = 12; i < 1_012; i++) {
      reload(i);
    }

    assertThat((long) Thread.getAllStackTraces().size()).isLessThanOrEqualTo(threads);
    assertThat(openFiles()).isLessThanOrEqualTo(files);
  }

  private void reload(int limit) throws IOException {
    rename(file, text(limit));
    live(source, limit);
  }

  @Test
  void closedSourceLeavesNoThreadAndNoFileOpen() {
    assumeTrue(Files.isDirectory(Path.of("/proc/self/fd")), "no /proc/self/fd");
    FileRules.watch(file).close();
    long files = openFiles();

    for (int i = 0; i < 50; i++) {
      FileRules.watch(file).close();
    }

    // The watch thread of the file system ends a moment after it was closed.
    Until.within(SECOND, "files closed", () -> openFiles() <= files);
    source.close();
    Until.within(SECOND, "threads ended", () -> threadsNamed("sluice-rules rules.yaml") == 0);
  }

  private static long threadsNamed(String name) {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().equals(name))
        .count();
  }

  private static long openFiles() {
    try (Stream<Path> files = Files.list(Path.of("/proc/self/fd"))) {
      return files.count();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }
}
