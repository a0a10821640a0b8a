package dev.sluice.rules.source;

import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.rules.RuleErrors;
import dev.sluice.rules.RuleFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The rules in a file. A saved change is in force within a second.
 *
 * <p>An invalid file is refused as a whole: the rules from before stay in force, and the mistakes
 * are logged and returned by {@link #failure()}. Thread-safe.
 */
public final class FileRules implements RuleSource {
  /*
   * Events of the operating system make it fast, but they are not complete. A symlink may lead to a
   * directory that is not watched (Kubernetes swaps the link "..data" beside the file), and some
   * file systems send no events. So every POLL, and after any event, the real path, the
   * modification time, the size and the file key are compared.
   *
   * A file that is written in place can be read half written, and half a rule file may be a good
   * one. So a change is read only after the file has looked the same for SETTLE, and the result
   * counts only if it still looks the same afterwards. A file that was renamed into place is
   * complete: its new key shows that, and it is read at once. The pause also ensures that a later
   * change has a later modification time, however coarse the clock of the file system is.
   *
   * A file that could not be read is tried again with every poll, because its attributes do not
   * show when it becomes readable. The same holds for a file that a check refused, because the
   * check may depend on other sources. Only regular files are opened: reading a FIFO would block
   * until someone writes to it.
   */
  private static final Duration POLL = Duration.ofMillis(200);
  private static final Duration SETTLE = Duration.ofMillis(50);
  private static final Duration BREATH = Duration.ofMillis(5);
  private static final int MOST_PAUSES = 100;

  private final Path file;
  private final Standing standing;
  private final DirectoryWatch directory;
  private final Function<Path, byte[]> reader;
  private final Thread thread;
  private volatile boolean closed;
  private Look seen;
  private boolean unread;

  /** The attributes of a file that reveal a change. */
  private record Look(
      @Nullable Path real,
      @Nullable FileTime modified,
      long size,
      @Nullable Object key,
      boolean regular) {
    static final Look MISSING = new Look(null, null, 0, null, false);

    static Look at(Path file) {
      try {
        BasicFileAttributes now = Files.readAttributes(file, BasicFileAttributes.class);
        return new Look(
            file.toRealPath(),
            now.lastModifiedTime(),
            now.size(),
            now.fileKey(),
            now.isRegularFile());
      } catch (IOException | RuntimeException e) {
        return MISSING;
      }
    }

    /** Whether the file was replaced by another one, rather than written in place. */
    boolean replacedBy(Look other) {
      return key != null && other.key != null && !key.equals(other.key);
    }
  }

  private FileRules(Path file, Function<Path, byte[]> reader) {
    this.file = file;
    this.reader = reader;
    this.seen = Look.at(file);
    Rules first = RuleFiles.parse(file.toString(), bytes());
    this.standing = new Standing(file.toString(), first, InstantSource.system());
    this.directory = new DirectoryWatch(file.toAbsolutePath());
    this.thread = new Thread(this::follow, "sluice-rules " + file.getFileName());
    thread.setDaemon(true);
  }

  /**
   * Reads a rule file and watches it for changes.
   *
   * @throws RuleErrors if the file is invalid from the start
   */
  public static FileRules watch(Path file) {
    return watch(file, RuleFiles::bytes);
  }

  static FileRules watch(Path file, Function<Path, byte[]> reader) {
    FileRules rules = new FileRules(file, reader);
    rules.thread.start();
    return rules;
  }

  @Override
  public Rules rules() {
    return standing.rules();
  }

  @Override
  public Optional<Failure> failure() {
    return standing.failure();
  }

  @Override
  public void require(Consumer<Rules> check) {
    standing.require(check);
  }

  @Override
  public void close() {
    closed = true;
    thread.interrupt();
    try {
      thread.join(1_000);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public String toString() {
    return file.toString();
  }

  private void follow() {
    try (directory) {
      while (!closed) {
        try {
          look();
        } catch (InterruptedException e) {
          // Only close() ends the thread.
        } catch (Throwable e) {
          failed(e);
        }
      }
    }
  }

  /** Reports an unexpected exception; the file is polled again afterwards. */
  private void failed(Throwable thrown) {
    unread = true;
    try {
      refuse(thrown.toString());
    } catch (Throwable again) {
      // Perhaps memory ran out. If it persists, the next poll reports it.
    }
    LockSupport.parkNanos(POLL.toNanos());
  }

  private void look() throws InterruptedException {
    boolean named = directory.await(POLL);
    Look look = Look.at(file);
    if (!look.equals(seen)) {
      seen = settled(look);
      load();
    } else if (named || unread) {
      load();
    } else {
      // Other files in the directory may change all the time.
      Thread.sleep(BREATH.toMillis());
    }
  }

  private Look settled(Look first) throws InterruptedException {
    Look look = first;
    for (int i = 0; i < MOST_PAUSES && !seen.replacedBy(look); i++) {
      Thread.sleep(SETTLE.toMillis());
      Look next = Look.at(file);
      if (Objects.equals(next, look)) {
        break;
      }
      look = next;
    }
    return look;
  }

  private void load() {
    unread = true;
    try {
      byte[] bytes = bytes();
      unread = false;
      Rules rules = RuleFiles.parse(file.toString(), bytes);
      if (isStillAsSeen()) {
        unread = !standing.accept(rules);
      }
    } catch (RuleErrors e) {
      refuse(String.valueOf(e.getMessage()));
    }
  }

  private byte[] bytes() {
    if (!seen.equals(Look.MISSING) && !seen.regular()) {
      throw RuleErrors.of(file.toString(), 0, "is not a regular file", "expected: a rule file");
    }
    return reader.apply(file);
  }

  private void refuse(String reason) {
    // close() interrupts a read; that is no fault of the file.
    if (!closed && isStillAsSeen()) {
      standing.refuse(reason);
    }
  }

  /** Whether the file has not changed since it was read; if it has, it is read again. */
  private boolean isStillAsSeen() {
    return Look.at(file).equals(seen);
  }
}
