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

/** Wakes its one waiter when something happens in a directory, or after a while anyway. */
final class DirectoryNews implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(DirectoryNews.class);

  private final Path directory;
  private final Path name;
  private final @Nullable WatchService service;
  private @Nullable WatchKey key;

  DirectoryNews(Path file) {
    this.directory = file.getParent() == null ? file : file.getParent();
    this.name = file.getFileName() == null ? file : file.getFileName();
    this.service = service(file);
    register();
  }

  private static @Nullable WatchService service(Path file) {
    try {
      return file.getFileSystem().newWatchService();
    } catch (IOException | UnsupportedOperationException e) {
      log.warn("{}: looked at by polling only: {}", file, e.getMessage());
      return null;
    }
  }

  /** A directory that is away, or was put in another's place, is registered when it is back. */
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

  /** Waits for news; true if they are about the file itself. */
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
        log.debug("{}: closing", directory, e);
      }
    }
  }
}
