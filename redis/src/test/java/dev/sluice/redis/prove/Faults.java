package dev.sluice.redis.prove;

import dev.sluice.redis.testing.RedisProcess;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/** Faults, one after another, in an order that a seed repeats. */
final class Faults {
  private static final int SLOTS_AT_A_TIME = 2;

  /** The kinds of faults; a round has each of them once. */
  enum Kind {
    KILL_AND_RESTART("kill -9 of a master, restarted from its file"),
    KILL_AND_FAIL_OVER("kill -9 of a master, replaced by its replica"),
    FAIL_OVER("failover from a master that lives"),
    PAUSE_REDIS("SIGSTOP of a master"),
    PAUSE_CALLER("SIGSTOP of a deciding process"),
    FLUSH_SCRIPTS("SCRIPT FLUSH on every node"),
    FLUSH_FUNCTIONS("FUNCTION FLUSH on every master"),
    CUT("every client connection of a master cut"),
    MOVE_SLOTS("slots moved to another master");

    final String words;

    Kind(String words) {
      this.words = words;
    }
  }

  /** A planned fault; the numbers select the node. */
  record Fault(Kind kind, int first, int second, int millis) {}

  /** A fault that happened, in microseconds of the machine's clock. */
  record Done(Kind kind, long from, long to) {}

  private final Site site;
  private final Callers callers;
  private final Random random;
  private final int calmMillis;
  private final List<Done> done = new ArrayList<>();
  private final List<String> strange = new ArrayList<>();
  private Set<RedisProcess> masters;

  Faults(Site site, Callers callers, long seed, Duration calm) {
    this.site = site;
    this.callers = callers;
    this.random = new Random(seed);
    this.calmMillis = (int) calm.toMillis();
    this.masters = new HashSet<>(site.masters());
  }

  /** The kinds that can befall a topology. */
  static List<Kind> kinds(boolean cluster) {
    return Arrays.stream(Kind.values()).filter(kind -> cluster || kind != Kind.MOVE_SLOTS).toList();
  }

  /** The next round. Nothing but the random numbers before it decides about it. */
  static List<Fault> round(Random random, boolean cluster) {
    List<Kind> kinds = new ArrayList<>(kinds(cluster));
    Collections.shuffle(kinds, random);
    List<Fault> faults = new ArrayList<>();
    for (Kind kind : kinds) {
      int millis = 200 + random.nextInt(1_300);
      faults.add(new Fault(kind, random.nextInt(60), random.nextInt(60), millis));
    }
    return faults;
  }

  /**
   * Causes one fault after another, in whole rounds, while {@code goesOn}; then repairs everything.
   */
  void run(BooleanSupplier goesOn, Consumer<Fault> announce) {
    do {
      for (Fault fault : round(random, site.isCluster())) {
        if (!goesOn.getAsBoolean()) {
          return;
        }
        let(calmMillis);
        if (!masters.equals(new HashSet<>(site.masters()))) {
          strange.add("a failover that the run did not order, before " + fault.kind.words);
        }
        announce.accept(fault);
        long from = Caller.now();
        bring(fault);
        done.add(new Done(fault.kind, from, Caller.now()));
        masters = new HashSet<>(site.masters());
      }
    } while (goesOn.getAsBoolean());
  }

  private void bring(Fault fault) {
    List<RedisProcess> now = site.masters();
    RedisProcess master = now.get(fault.first % now.size());
    switch (fault.kind) {
      case KILL_AND_RESTART -> site.killAndRestart(master);
      case KILL_AND_FAIL_OVER -> site.killAndFailOver(master);
      case FAIL_OVER -> site.failOver(master);
      case PAUSE_REDIS -> {
        master.pause();
        let(fault.millis);
        master.resume();
      }
      case PAUSE_CALLER -> {
        int caller = fault.first % Callers.PROCESSES;
        callers.pause(caller);
        let(fault.millis);
        callers.resume(caller);
      }
      case FLUSH_SCRIPTS -> site.nodes().forEach(node -> node.command("SCRIPT", "FLUSH"));
      case FLUSH_FUNCTIONS -> now.forEach(node -> node.command("FUNCTION", "FLUSH"));
      case CUT -> {
        master.command("CLIENT", "KILL", "TYPE", "normal");
        master.command("CLIENT", "KILL", "TYPE", "pubsub");
      }
      case MOVE_SLOTS -> {
        List<RedisProcess> others = now.stream().filter(other -> other != master).toList();
        RedisProcess to = others.get(fault.second % others.size());
        for (int i = 0; i < SLOTS_AT_A_TIME; i++) {
          ((Site.Cluster) site).moveSlot(master, to);
        }
      }
    }
  }

  List<Done> done() {
    return done;
  }

  /** What happened unintentionally. */
  List<String> strange() {
    return strange;
  }

  /** Waits in real time, for other processes. */
  static void let(long millis) {
    long end = System.nanoTime() + millis * 1_000_000;
    while (System.nanoTime() < end) {
      LockSupport.parkNanos(end - System.nanoTime());
    }
  }
}
