package dev.sluice.traffic;

import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.internal.Chores;
import dev.sluice.internal.Stages;
import dev.sluice.rules.RuleVersion;
import dev.sluice.store.SharedData;
import dev.sluice.store.Store;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Shares a summary of this node every two seconds. Thread-safe.
 *
 * <p>Decisions do not depend on it: it has another thread, and if the store does not answer, the
 * summary is left out.
 */
public final class Reporter implements AutoCloseable {
  /** The group of the summaries of all nodes. */
  static final String NODES = "nodes";

  /** The group of the clients of all nodes. */
  static final String CLIENTS = "clients";

  /** The log of sampled refusals. */
  static final String REFUSALS = "refusals";

  /** The value that is there while somebody looks at refusals. */
  static final String WATCHING = "watching";

  static final Duration INTERVAL = Duration.ofSeconds(2);
  static final Duration TTL = Duration.ofSeconds(10);
  private static final Duration REFUSALS_INTERVAL = Duration.ofSeconds(1);
  private static final Duration REFUSALS_TTL = Duration.ofHours(1);
  private static final int MOST_REFUSALS = 2_000;
  private static final int LONGEST_CLIENTS = SharedData.LONGEST_VALUE - 32_768;
  private static final Duration COMPLAINT_PAUSE = Duration.ofMinutes(1);
  private static final Logger LOG = LoggerFactory.getLogger(Reporter.class);
  private static final String HOST = host();

  private final Traffic traffic;
  private final Store store;
  private final String program;
  private final Instant since;
  private final InstantSource clock;
  private final Chores chores;
  private final AtomicBoolean sharing = new AtomicBoolean();
  private volatile @Nullable RuleSource rules;
  private @Nullable Rules hashed;
  private String rulesVersion = "";
  private volatile long complainedNanos = System.nanoTime() - COMPLAINT_PAUSE.toNanos();

  private Reporter(
      Traffic traffic, Store store, String program, InstantSource clock, Chores chores) {
    this.traffic = traffic;
    this.store = store;
    this.program = program;
    this.clock = clock;
    this.chores = chores;
    this.since = clock.instant();
  }

  /**
   * Starts to share.
   *
   * @param traffic what this node decides
   * @param store whose shared data is used
   * @param program {@code service}, {@code spring} or {@code library}
   */
  public static Reporter start(Traffic traffic, Store store, String program) {
    return start(traffic, store, program, Chores.alone("sluice-reports"));
  }

  /**
   * Starts to share, on a thread that others use, too.
   *
   * @param thread is left open
   */
  public static Reporter start(
      Traffic traffic, Store store, String program, ScheduledExecutorService thread) {
    return start(traffic, store, program, Chores.on(thread));
  }

  private static Reporter start(Traffic traffic, Store store, String program, Chores chores) {
    Reporter reporter = new Reporter(traffic, store, program, InstantSource.system(), chores);
    traffic.summarizedBy(() -> Optional.of(reporter.summary()));
    reporter.every(INTERVAL, reporter::share);
    reporter.every(REFUSALS_INTERVAL, reporter::shareRefusals);
    return reporter;
  }

  /** A reporter that shares only when a test says so. */
  static Reporter idle(Traffic traffic, Store store, InstantSource clock) {
    Reporter reporter =
        new Reporter(traffic, store, "library", clock, Chores.alone("sluice-reports"));
    traffic.summarizedBy(() -> Optional.of(reporter.summary()));
    return reporter;
  }

  private void every(Duration pause, Runnable task) {
    chores.every(pause, pause, () -> carefully(task));
  }

  private void carefully(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException e) {
      complain(e);
    }
  }

  /** What this node decides. */
  public Traffic traffic() {
    return traffic;
  }

  /** Sets the rules that the summaries tell of. */
  public void rules(RuleSource rules) {
    this.rules = Objects.requireNonNull(rules, "rules");
  }

  /** Shares a summary, unless the one before is still under way. */
  void share() {
    traffic.turn();
    if (!sharing.compareAndSet(false, true)) {
      return;
    }
    try {
      SharedData data = store.sharedData();
      String id = traffic.node();
      CompletableFuture<?> unused =
          CompletableFuture.allOf(
                  data.announce(NODES, id, summary().text(), TTL)
                      .thenAccept(Reporter::checkAdmitted)
                      .toCompletableFuture(),
                  data.announce(CLIENTS, id, clients(), TTL).toCompletableFuture(),
                  data.get(WATCHING)
                      .thenAccept(watching -> traffic.watched(watching.isPresent()))
                      .toCompletableFuture())
              .whenComplete(
                  (done, error) -> {
                    sharing.set(false);
                    if (error != null) {
                      complain(Stages.cause(error));
                    }
                  });
    } catch (RuntimeException e) {
      sharing.set(false);
      complain(e);
    }
  }

  private static void checkAdmitted(boolean admitted) {
    if (!admitted) {
      throw new IllegalStateException(
          "%d nodes report already, which is the most".formatted(SharedData.MOST_MEMBERS));
    }
  }

  void shareRefusals() {
    List<String> texts = traffic.takeRefusals().stream().map(SampledRefusal::text).toList();
    if (!texts.isEmpty()) {
      var unused =
          store
              .sharedData()
              .append(REFUSALS, texts, MOST_REFUSALS, REFUSALS_TTL)
              .whenComplete(
                  (done, error) -> {
                    if (error != null) {
                      complain(Stages.cause(error));
                    }
                  });
    }
  }

  private NodeSummary summary() {
    RuleSource known = rules;
    NodeInfo node =
        new NodeInfo(
            traffic.node(),
            HOST,
            ProcessHandle.current().pid(),
            program,
            version(),
            since,
            known == null ? 0 : known.rules().size(),
            known == null ? "" : version(known.rules()),
            known == null ? "" : known.failure().map(RuleSource.Failure::message).orElse(""),
            store.trouble().orElse(""),
            store.warnings());
    return NodeSummary.of(node, traffic, clock.instant());
  }

  /** Computed once for the same rules: there can be thousands of overrides in them. */
  @SuppressWarnings("ReferenceEquality") // a source returns the same object until its rules change
  private synchronized String version(Rules now) {
    if (now != hashed) {
      rulesVersion = RuleVersion.of(now).version();
      hashed = now;
    }
    return rulesVersion;
  }

  private String clients() {
    Lines lines = new Lines();
    write(lines, "busy", traffic.busiest(), LONGEST_CLIENTS / 2);
    write(lines, "refused", traffic.mostRefused(), LONGEST_CLIENTS);
    return lines.toString();
  }

  private static void write(Lines lines, String kind, List<Clients.Client> top, int longest) {
    top.stream()
        .takeWhile(unused -> lines.length() < longest)
        .forEach(client -> lines.add(kind, client.identity(), client.calls(), client.error()));
  }

  private static String host() {
    try {
      return InetAddress.getLocalHost().getHostName();
    } catch (UnknownHostException e) {
      return "unknown";
    }
  }

  private static String version() {
    String version = Reporter.class.getPackage().getImplementationVersion();
    return version == null ? "" : version;
  }

  private void complain(Throwable error) {
    long now = System.nanoTime();
    if (now - complainedNanos >= COMPLAINT_PAUSE.toNanos()) {
      complainedNanos = now;
      LOG.warn(
          "Could not share the summary of this node, which the console shows: {}",
          error.getMessage());
    }
  }

  @Override
  public void close() {
    traffic.summarizedBy(Optional::empty);
    chores.close();
  }
}
