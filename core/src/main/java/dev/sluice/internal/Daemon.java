package dev.sluice.internal;

import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;

/** Background threads, which have a name and do not keep the process alive. */
public final class Daemon {
  private Daemon() {}

  /** A thread that is not started yet. */
  public static Thread thread(String name, Runnable work) {
    Thread thread = new Thread(work, name);
    thread.setDaemon(true);
    return thread;
  }

  /** One thread that runs tasks in turn, also later or again and again. */
  public static ScheduledExecutorService scheduled(String name) {
    return Executors.newSingleThreadScheduledExecutor(work -> thread(name, work));
  }
}
