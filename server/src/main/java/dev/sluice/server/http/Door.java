package dev.sluice.server.http;

import com.linecorp.armeria.common.util.EventLoopGroups;
import io.netty.channel.Channel;
import io.netty.channel.EventLoopGroup;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;

/** Where new connections come in; it can be shut while those that came are served. Thread-safe. */
public final class Door {
  /*
   * A server of Armeria that stops takes new connections until no request is in work, or its time is
   * up. And it waits two seconds more for threads that have nothing left to do. So the sockets that
   * listen are closed here, and the end is seen here: those threads are ended when every
   * connection is closed.
   *
   * A socket that listens is known by the connections that it took. Nobody has come yet through one
   * that is not known: then the first connection that comes is the last.
   */
  private final Set<Channel> listening = ConcurrentHashMap.newKeySet();
  private final List<EventLoopGroup> threads = new CopyOnWriteArrayList<>();
  private volatile boolean shut;

  /** The threads that take new connections. */
  public EventLoopGroup threads(String name) {
    EventLoopGroup made = EventLoopGroups.newEventLoopGroup(1, name);
    threads.add(made);
    return made;
  }

  /** Notes that a connection has come. */
  public void taken(Channel connection) {
    Channel parent = connection.parent();
    if (parent != null) {
      listening.add(parent);
      if (shut) {
        var unused = parent.close();
      }
    }
  }

  /** Refuses new connections. */
  public void shut() throws InterruptedException {
    shut = true;
    for (Channel each : listening) {
      each.close().await();
    }
  }

  /** Waits until a server that stops has closed every connection. */
  public void awaitEnd(CompletableFuture<?> stopped) throws InterruptedException {
    while (!stopped.isDone() && !threads.stream().allMatch(EventLoopGroup::isShuttingDown)) {
      Thread.sleep(5);
    }
    if (stopped.isDone()) {
      stopped.join(); // says what went wrong
    }
  }
}
