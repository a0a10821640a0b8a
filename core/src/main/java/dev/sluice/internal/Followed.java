package dev.sluice.internal;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A value that is made from files, and made again within a second when they change.
 *
 * <p>Files that make no value are refused: the value from before stays in force, and the reason is
 * logged once. Thread-safe.
 *
 * @param <T> the value; two that are equal are the same to users
 */
public final class Followed<T> implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Followed.class);

  /** The largest file that is read. */
  public static final int LARGEST_BYTES = 1 << 20;

  private final String name;
  private final List<Path> files;
  private final Function<List<byte[]>, T> maker;
  private final Duration patience;
  private final Consumer<T> onChange;
  private final FileWatch watch;
  private volatile T value;
  private volatile @Nullable String refused;

  /** The refusal that patience still waits for, and since when; null if there is none. */
  private @Nullable Long waitingSinceNanos;

  private Followed(
      String name,
      List<Path> files,
      Function<List<byte[]>, T> maker,
      Duration patience,
      Consumer<T> onChange) {
    this.name = name;
    this.files = List.copyOf(files);
    this.maker = maker;
    this.patience = patience;
    this.onChange = onChange;
    this.watch = new FileWatch("sluice-" + name, files, new Reading());
    try {
      this.value = maker.apply(bytes());
    } catch (RuntimeException e) {
      watch.close();
      throw e;
    }
  }

  /**
   * Reads files and follows them.
   *
   * @param name what they are, for the log
   * @param maker makes the value from the bytes of the files; throws {@link
   *     IllegalArgumentException} if they are not good
   * @param patience how long files may be bad before they are refused; more than zero for files
   *     that are written one after the other
   * @param onChange called with each value, also the first
   * @throws IllegalArgumentException if the files are bad from the start
   */
  public static <T> Followed<T> start(
      String name,
      List<Path> files,
      Function<List<byte[]>, T> maker,
      Duration patience,
      Consumer<T> onChange) {
    Followed<T> followed = new Followed<>(name, files, maker, patience, onChange);
    onChange.accept(followed.value);
    followed.watch.start();
    return followed;
  }

  public T value() {
    return value;
  }

  /** Why newer files are not in force; empty if the value is that of the files. */
  public Optional<String> refused() {
    return Optional.ofNullable(refused);
  }

  @Override
  public void close() {
    watch.close();
  }

  /** What is done when files have changed. */
  private final class Reading implements FileWatch.Reader {
    @Override
    public boolean read() {
      try {
        T made = maker.apply(bytes());
        if (watch.isStillAsSeen()) {
          accept(made);
        }
        return false;
      } catch (IllegalArgumentException e) {
        refuse(String.valueOf(e.getMessage()));
        return true; // perhaps a right to read is missing, or a part is still to come
      }
    }

    @Override
    public void failed(Throwable thrown) {
      refuse(thrown.toString());
    }
  }

  private void accept(T made) {
    boolean changed = !made.equals(value);
    boolean ended = refused != null;
    waitingSinceNanos = null;
    refused = null;
    if (changed) {
      value = made;
    }
    if (changed || ended) {
      onChange.accept(value);
    }
  }

  private void refuse(String reason) {
    if (watch.isClosed() || !watch.isStillAsSeen()) {
      return;
    }
    long now = System.nanoTime();
    Long since = waitingSinceNanos;
    if (since == null) {
      since = now;
      waitingSinceNanos = since;
    }
    if (now - since >= patience.toNanos() && !reason.equals(refused)) {
      refused = reason;
      LOG.error("{}: refused, what was in force before stays in force:\n{}", name, reason);
    }
  }

  private List<byte[]> bytes() {
    return files.stream().map(this::bytes).toList();
  }

  private byte[] bytes(Path file) {
    if (watch.isIrregular(file)) {
      throw new IllegalArgumentException(file + "  is not a regular file (expected: a file)");
    }
    try (InputStream in = Files.newInputStream(file)) {
      byte[] bytes = in.readNBytes(LARGEST_BYTES + 1);
      if (bytes.length > LARGEST_BYTES) {
        throw new IllegalArgumentException(
            "%s  the file has %,d bytes (expected: at most %,d)"
                .formatted(file, Files.size(file), LARGEST_BYTES));
      }
      return bytes;
    } catch (NoSuchFileException e) {
      throw new IllegalArgumentException(file + "  there is no such file", e);
    } catch (IOException e) {
      throw new IllegalArgumentException(file + "  cannot be read: " + e.getMessage(), e);
    }
  }
}
