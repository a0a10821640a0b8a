package dev.sluice.internal;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** A thread that notices within a second that one of some files has changed. */
public final class FileWatch implements AutoCloseable {
  /*
   * Events of the operating system make it fast, but they are not complete. A symlink may lead to a
   * directory that is not watched (Kubernetes swaps the link "..data" beside the file), and some
   * file systems send no events. So every POLL, and after any event, the real path, the
   * modification time, the size and the file key are compared.
   *
   * A file that is written in place can be read half written, and half a rule file may be a good
   * one. So a change is read only after the files have looked the same for SETTLE, and the result
   * counts only if they still look the same afterwards. A file that was renamed into place is
   * complete: its new key shows that, and a single file is then read at once. Of several files the
   * others may follow, so they always settle. The pause also ensures that a later change has a
   * later modification time, however coarse the clock of the file system is.
   *
   * Files that could not be read are tried again with every poll, because their attributes do not
   * show when they become readable.
   */
  private static final Duration POLL = Duration.ofMillis(200);
  private static final Duration SETTLE = Duration.ofMillis(50);
  private static final Duration BREATH = Duration.ofMillis(5);
  private static final int MOST_PAUSES = 100;

  private final List<Path> files;
  private final Reader reader;
  private final DirectoryWatch directories;
  private final Thread thread;
  private volatile boolean closed;
  private List<Look> seen;
  private boolean again;

  /** What reads the files. Its methods are called by one thread. */
  public interface Reader {
    /**
     * Reads the files.
     *
     * @return whether they are to be read again with the next poll, even if they do not change
     */
    boolean read();

    /** Reading threw what it should not throw; the files are read again. */
    void failed(Throwable thrown);
  }

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

  /**
   * Notes how the files look now. Changes are followed from {@link #start()} on.
   *
   * @param name the name of the thread
   * @param files at least one
   */
  public FileWatch(String name, List<Path> files, Reader reader) {
    this.files = List.copyOf(files);
    this.reader = reader;
    this.seen = looks();
    this.directories = new DirectoryWatch(files.stream().map(Path::toAbsolutePath).toList());
    this.thread = Daemon.thread(name, this::follow);
  }

  public void start() {
    thread.start();
  }

  private List<Look> looks() {
    return files.stream().map(Look::at).toList();
  }

  /**
   * Whether something that is no regular file was seen in the place of a file. It must not be
   * opened: reading a FIFO would block until someone writes to it.
   */
  public boolean isIrregular(Path file) {
    Look look = seen.get(files.indexOf(file));
    return !look.equals(Look.MISSING) && !look.regular();
  }

  /** Whether the files have not changed since they were seen; if they have, they are read again. */
  public boolean isStillAsSeen() {
    return looks().equals(seen);
  }

  public boolean isClosed() {
    return closed;
  }

  @Override
  public void close() {
    closed = true;
    if (thread.getState() == Thread.State.NEW) {
      directories.close();
      return;
    }
    thread.interrupt();
    try {
      thread.join(1_000);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void follow() {
    try (directories) {
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

  /** Reports an unexpected exception; the files are polled again afterwards. */
  private void failed(Throwable thrown) {
    again = true;
    try {
      reader.failed(thrown);
    } catch (Throwable more) {
      // Perhaps memory ran out. If it persists, the next poll reports it.
    }
    LockSupport.parkNanos(POLL.toNanos());
  }

  private void look() throws InterruptedException {
    boolean named = directories.await(POLL);
    List<Look> now = looks();
    if (!now.equals(seen)) {
      seen = settled(now);
      again = reader.read();
    } else if (named || again) {
      again = reader.read();
    } else {
      // Other files in the directory may change all the time.
      Thread.sleep(BREATH.toMillis());
    }
  }

  private List<Look> settled(List<Look> first) throws InterruptedException {
    List<Look> looks = first;
    for (int i = 0; i < MOST_PAUSES && !isComplete(looks); i++) {
      Thread.sleep(SETTLE.toMillis());
      List<Look> next = looks();
      if (next.equals(looks)) {
        break;
      }
      looks = next;
    }
    return looks;
  }

  private boolean isComplete(List<Look> looks) {
    return looks.size() == 1 && seen.get(0).replacedBy(looks.get(0));
  }
}
