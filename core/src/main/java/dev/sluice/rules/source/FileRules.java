package dev.sluice.rules.source;

import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.internal.FileWatch;
import dev.sluice.rules.RuleErrors;
import dev.sluice.rules.RuleFiles;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * The rules in a file. A saved change is in force within a second.
 *
 * <p>An invalid file is refused as a whole: the rules from before stay in force, and the mistakes
 * are logged and returned by {@link #failure()}. Thread-safe.
 */
public final class FileRules implements RuleSource {
  private final Path file;
  private final Function<Path, byte[]> reader;
  private final FileWatch watch;
  private final Standing standing;

  private FileRules(Path file, Function<Path, byte[]> reader) {
    this.file = file;
    this.reader = reader;
    this.watch = new FileWatch("sluice-rules " + file.getFileName(), List.of(file), new Reading());
    try {
      Rules first = RuleFiles.parse(file.toString(), bytes());
      this.standing = new Standing(file.toString(), first, InstantSource.system());
    } catch (RuntimeException e) {
      watch.close();
      throw e;
    }
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
    rules.watch.start();
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
    watch.close();
  }

  @Override
  public String toString() {
    return file.toString();
  }

  /** What is done when the file has changed. */
  private final class Reading implements FileWatch.Reader {
    /**
     * Reads again what could not be read, and what a check refused: the check may depend on other
     * sources.
     */
    @Override
    public boolean read() {
      boolean again = true;
      try {
        byte[] bytes = bytes();
        again = false;
        Rules rules = RuleFiles.parse(file.toString(), bytes);
        if (watch.isStillAsSeen()) {
          again = !standing.accept(rules);
        }
      } catch (RuleErrors e) {
        refuse(String.valueOf(e.getMessage()));
      }
      return again;
    }

    @Override
    public void failed(Throwable thrown) {
      refuse(thrown.toString());
    }
  }

  private byte[] bytes() {
    if (watch.isIrregular(file)) {
      throw RuleErrors.of(file.toString(), 0, "is not a regular file", "expected: a rule file");
    }
    return reader.apply(file);
  }

  private void refuse(String reason) {
    // close() interrupts a read; that is no fault of the file.
    if (!watch.isClosed() && watch.isStillAsSeen()) {
      standing.refuse(reason);
    }
  }
}
