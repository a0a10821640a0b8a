package dev.sluice.rules.source;

import java.io.IOException;
import java.nio.file.Path;
import java.nio.file.StandardWatchEventKinds;
import java.nio.file.WatchEvent;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Waits for changes in the directory of a file, for a limited time. */
final class DirectoryWatch implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(DirectoryWatch.class);

  private final Path directory;
  private final Path name;
  private final @Nullable WatchService service;
  private @Nullable WatchKey key;

  DirectoryWatch(Path file) {
    this.directory = file.getParent() == null ? file : file.getParent();
    this.name = file.getFileName() == null ? file : file.getFileName();
    this.service = service(file);
    register();
  }

  private static @Nullable WatchService service(Path file) {
    try {
      return file.getFileSystem().newWatchService();
    } catch (IOException | UnsupportedOperationException e) {
      log.warn("{}: cannot watch the directory, polling only: {}", file, e.getMessage());
      return null;
    }
  }

  /** Registers the directory again after it was missing or replaced. */
  private void register() {
    if (service != null && (key == null || !key.isValid())) {
      try {
        key =
            directory.register(
                service,
                StandardWatchEventKinds.ENTRY_CREATE,
                StandardWatchEventKinds.ENTRY_MODIFY,
                StandardWatchEventKinds.ENTRY_DELETE);
      } catch (IOException e) {
        key = null;
      }
    }
  }

  /** Waits for changes; true if the file itself changed. */
  boolean await(Duration atMost) throws InterruptedException {
    register();
    if (service == null) {
      TimeUnit.MILLISECONDS.sleep(atMost.toMillis());
      return false;
    }
    WatchKey signalled = service.poll(atMost.toMillis(), TimeUnit.MILLISECONDS);
    if (signalled == null) {
      return false;
    }
    boolean named = false;
    for (WatchEvent<?> event : signalled.pollEvents()) {
      named |= event.kind() == StandardWatchEventKinds.OVERFLOW || name.equals(event.context());
    }
    signalled.reset();
    return named;
  }

  @Override
  public void close() {
    if (service != null) {
      try {
        service.close();
      } catch (IOException e) {
        log.debug("{}: could not close the watch service", directory, e);
      }
    }
  }
}
