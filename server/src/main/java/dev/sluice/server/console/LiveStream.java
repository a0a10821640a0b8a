package dev.sluice.server.console;

import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpResponseWriter;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.common.ResponseHeaders;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.internal.Daemon;
import dev.sluice.server.http.Replies;
import dev.sluice.traffic.Collector;
import dev.sluice.traffic.SampledRefusal;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Sends the numbers of the overview and new refusals to the pages that are open. Thread-safe. */
final class LiveStream implements AutoCloseable {
  /*
   * One thread makes each event once and gives it to all streams. A stream whose reader is slower
   * than that misses events, so nothing piles up. After ten seconds it is closed, and its page
   * connects again. A stream ends with its session.
   */
  static final int MOST = 100;

  private static final Logger LOG = LoggerFactory.getLogger(LiveStream.class);
  private static final Duration PAUSE = Duration.ofSeconds(1);
  private static final Duration SLOWEST = Duration.ofSeconds(10);
  private static final int MOST_REFUSALS = 200;

  private final Collector collector;
  private final Replies.Body overview;
  private final Set<Stream> streams = ConcurrentHashMap.newKeySet();
  private final AtomicInteger open = new AtomicInteger();
  private final ScheduledExecutorService thread = Daemon.scheduled("sluice-console");
  private long ticks;
  private volatile String lastRefusal = "";

  /** The answer to one page. */
  private static final class Stream {
    private final HttpResponseWriter response;
    private final Supplier<CompletionStage<Boolean>> session;
    private volatile boolean busy;
    private volatile long sentNanos;

    Stream(HttpResponseWriter response, Supplier<CompletionStage<Boolean>> session) {
      this.response = response;
      this.session = session;
    }

    /** Closes it if its session is over; not if the store cannot say. */
    void check() {
      var unused =
          session
              .get()
              .thenAccept(
                  going -> {
                    if (!going) {
                      response.close();
                    }
                  });
    }

    /** Sends an event, unless the one before is still under way. Returns whether it goes on. */
    boolean send(HttpData event) {
      if (!response.isOpen()) {
        return false;
      }
      if (busy) {
        return System.nanoTime() - sentNanos < SLOWEST.toNanos();
      }
      sentNanos = System.nanoTime();
      busy = true;
      boolean sent = response.tryWrite(event);
      var unused = response.whenConsumed().thenRun(() -> busy = false);
      return sent;
    }
  }

  /**
   * Streams of live data.
   *
   * @param overview writes the overview
   */
  LiveStream(Collector collector, Replies.Body overview) {
    this.collector = collector;
    this.overview = overview;
    ScheduledFuture<?> unused =
        thread.scheduleWithFixedDelay(
            this::tick, PAUSE.toMillis(), PAUSE.toMillis(), TimeUnit.MILLISECONDS);
  }

  /**
   * Opens a stream; 503 if there are too many.
   *
   * @param session whether its session goes on
   */
  HttpResponse open(ServiceRequestContext ctx, Supplier<CompletionStage<Boolean>> session) {
    if (open.incrementAndGet() > MOST) {
      open.decrementAndGet();
      return Replies.problem(
          HttpStatus.SERVICE_UNAVAILABLE,
          "live data: %d pages are open already (expected: at most %d)".formatted(MOST, MOST));
    }
    ctx.clearRequestTimeout();
    HttpResponseWriter response = HttpResponse.streaming();
    response.write(
        ResponseHeaders.builder(HttpStatus.OK)
            .contentType(MediaType.EVENT_STREAM)
            .add(HttpHeaderNames.CACHE_CONTROL, "no-store")
            .build());
    Stream stream = new Stream(response, session);
    streams.add(stream);
    var unused =
        response
            .whenComplete()
            .whenComplete(
                (done, error) -> {
                  streams.remove(stream);
                  open.decrementAndGet();
                });
    stream.send(overviewEvent());
    return response;
  }

  private HttpData overviewEvent() {
    return event("overview", Replies.text(overview));
  }

  private static HttpData event(String name, String data) {
    return HttpData.wrap(
        ("event: " + name + "\ndata: " + data + "\n\n").getBytes(StandardCharsets.UTF_8));
  }

  private void tick() {
    if (streams.isEmpty()) {
      return;
    }
    try {
      if (ticks++ % 2 == 0) {
        streams.forEach(Stream::check);
        send(overviewEvent());
        var unused = collector.watch();
      } else {
        var unused =
            collector.refusalsAfter(lastRefusal, MOST_REFUSALS).thenAccept(this::sendRefusals);
      }
    } catch (RuntimeException e) {
      LOG.debug("Could not send live data", e);
    }
  }

  private void sendRefusals(Collector.Refusals fresh) {
    lastRefusal = fresh.last();
    if (!fresh.newestFirst().isEmpty()) {
      send(
          event(
              "refusals",
              Replies.arrayText(
                  json -> {
                    for (SampledRefusal refusal : fresh.newestFirst()) {
                      OverviewJson.write(json, refusal);
                    }
                  })));
    }
  }

  private void send(HttpData event) {
    for (Stream stream : streams) {
      if (!stream.send(event)) {
        stream.response.close();
      }
    }
  }

  /** Ends all streams, so that the service can stop. */
  @Override
  public void close() {
    thread.shutdownNow();
    streams.forEach(stream -> stream.response.close());
  }
}
