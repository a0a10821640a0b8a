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
 * The rules in a file, followed while it changes: what is saved is in force within a second.
 *
 * <p>A bad file is refused as a whole; the rules from before stay in force, the mistakes are logged
 * and told by {@link #failure()}. Thread-safe.
 */
public final class FileRules implements RuleSource {
  /*
   * The operating system's news about the directory make it quick. They do not tell everything: a
   * symlink may lead to a directory that nobody watches (Kubernetes swaps the link "..data" beside
   * the file), and some file systems send none. So a look at the real path, the time, the size and
   * the file's key is taken every POLL, too, and after any news.
   *
   * A file that is written in place can be read half written, and half a rule file may be a good
   * one. So a change is read only once the look has stayed the same for SETTLE, and what was read
   * counts only if the look is the same afterwards. A file that was renamed into place is complete;
   * it is known by its new key and is read at once. The pause has another use: a later change then
   * has a later time, however coarse the file system's clock is.
   *
   * A file that could not be read is tried again with every look, as nothing in a look says that
   * one may read it now. So is one that a check refused: the check may depend on other sources, and
   * they change without a word to this one. What is no regular file is not opened: a FIFO would keep the thread for as
   * long as nobody writes to it.
   */
  private static final Duration POLL = Duration.ofMillis(200);
  private static final Duration SETTLE = Duration.ofMillis(50);
  private static final Duration BREATH = Duration.ofMillis(5);
  private static final int MOST_PAUSES = 100;

  private final Path file;
  private final Standing standing;
  private final DirectoryNews news;
  private final Function<Path, byte[]> reader;
  private final Thread thread;
  private volatile boolean closed;
  private Look seen;
  private boolean unread;

  /** What a file looks like from outside. */
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

    /** Whether another file has taken the place of this one, rather than this one been written. */
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
    this.news = new DirectoryNews(file.toAbsolutePath());
    this.thread = new Thread(this::follow, "sluice-rules " + file.getFileName());
    thread.setDaemon(true);
  }

  /** Reads a file and follows it; a file that is bad from the start is {@link RuleErrors}. */
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
    try (news) {
      while (!closed) {
        try {
          look();
        } catch (InterruptedException e) {
          // Only closing ends the thread.
        } catch (Throwable e) {
          failed(e);
        }
      }
    }
  }

  /** Whatever was thrown, the file is looked at again. */
  private void failed(Throwable thrown) {
    unread = true;
    try {
      refuse(thrown.toString());
    } catch (Throwable again) {
      // For want of memory perhaps; if it goes on, the next look tells of it.
    }
    LockSupport.parkNanos(POLL.toNanos());
  }

  private void look() throws InterruptedException {
    boolean named = news.await(POLL);
    Look look = Look.at(file);
    if (!look.equals(seen)) {
      seen = settled(look);
      load();
    } else if (named || unread) {
      load();
    } else {
      // Others may write to the directory all the time.
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
    // Closing interrupts a read; that is no fault of the file.
    if (!closed && isStillAsSeen()) {
      standing.refuse(reason);
    }
  }

  /** Whether what was read is not already changing again; if it is, it is read once more. */
  private boolean isStillAsSeen() {
    return Look.at(file).equals(seen);
  }
}
