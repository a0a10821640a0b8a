package dev.sluice.internal;

import java.io.IOException;
import java.nio.file.Path;
import java.nio.file.StandardWatchEventKinds;
import java.nio.file.WatchEvent;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Waits for changes in the directories of some files, for a limited time. */
final class DirectoryWatch implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(DirectoryWatch.class);

  /** The names of the files in each directory. */
  private final Map<Path, Set<Path>> names = new HashMap<>();

  private final Map<Path, WatchKey> keys = new HashMap<>();
  private final @Nullable WatchService service;

  /** At least one file, all of one file system. */
  DirectoryWatch(List<Path> files) {
    for (Path file : files) {
      Path parent = file.getParent();
      Path name = file.getFileName();
      names
          .computeIfAbsent(parent == null ? file : parent, directory -> new HashSet<>())
          .add(name == null ? file : name);
    }
    this.service = service(files.get(0));
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

  /** Registers directories again after they were missing or replaced. */
  private void register() {
    if (service == null) {
      return;
    }
    for (Path directory : names.keySet()) {
      WatchKey known = keys.get(directory);
      if (known == null || !known.isValid()) {
        try {
          keys.put(
              directory,
              directory.register(
                  service,
                  StandardWatchEventKinds.ENTRY_CREATE,
                  StandardWatchEventKinds.ENTRY_MODIFY,
                  StandardWatchEventKinds.ENTRY_DELETE));
        } catch (IOException e) {
          keys.remove(directory);
        }
      }
    }
  }

  /** Waits for changes; true if one of the files itself changed. */
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
    Set<Path> ours =
        signalled.watchable() instanceof Path directory
            ? names.getOrDefault(directory, Set.of())
            : Set.of();
    boolean named = false;
    for (WatchEvent<?> event : signalled.pollEvents()) {
      named |=
          event.kind() == StandardWatchEventKinds.OVERFLOW
              || (event.context() instanceof Path changed && ours.contains(changed));
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
        log.debug("{}: could not close the watch service", names.keySet(), e);
      }
    }
  }
}
