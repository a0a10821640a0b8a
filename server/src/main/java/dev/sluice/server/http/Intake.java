package dev.sluice.server.http;

import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.server.DecoratingHttpServiceFunction;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.ServiceRequestContext;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What every request passes first: refused when too many are in work, or asked to close its
 * connection.
 */
public final class Intake implements DecoratingHttpServiceFunction {
  /*
   * While the service drains, each answer closes its connection (HTTP/1) or says GOAWAY (HTTP/2). A
   * client with kept connections thus never sends a request into one that is about to be cut. When no
   * request has come for QUIET, those who are left are idle; a trickle of them is heard for LONGEST.
   */
  private static final Duration QUIET = Duration.ofSeconds(1);
  private static final Duration LONGEST = Duration.ofSeconds(2);

  private final int most;
  private final int mostRequestBytes;
  private final long mostBytes;
  private final Runnable onOverload;
  private final AtomicInteger inFlight = new AtomicInteger();
  private final AtomicLong bytes = new AtomicLong();
  private volatile boolean draining;
  private volatile long askedNanos; // when a client was last asked to close its connection

  /** Where liveness is asked for. */
  public static final String LIVE = "/health/live";

  /**
   * An intake.
   *
   * @param most requests in work at once
   * @param mostRequestBytes what is kept of one body at most
   * @param mostBytes of all bodies at once, so that those who send slowly cannot fill the memory
   */
  public Intake(int most, int mostRequestBytes, long mostBytes, Runnable onOverload) {
    this.most = most;
    this.mostRequestBytes = mostRequestBytes;
    this.mostBytes = mostBytes;
    this.onOverload = onOverload;
  }

  public void drain() {
    askedNanos = System.nanoTime();
    draining = true;
  }

  /** Waits until every request is answered and clients have had time to leave. */
  public void awaitEnd(Duration most) throws InterruptedException {
    long start = System.nanoTime();
    while (!hasEnded(start) && System.nanoTime() - start < most.toNanos()) {
      Thread.sleep(10);
    }
  }

  private boolean hasEnded(long startNanos) {
    long now = System.nanoTime();
    boolean isQuiet = now - askedNanos >= QUIET.toNanos() || now - startNanos >= LONGEST.toNanos();
    return isQuiet && inFlight.get() == 0;
  }

  public boolean isDraining() {
    return draining;
  }

  @Override
  public HttpResponse serve(HttpService service, ServiceRequestContext ctx, HttpRequest request)
      throws Exception {
    if (draining) {
      askedNanos = System.nanoTime();
      var unused = ctx.initiateConnectionShutdown();
    }
    if (ctx.path().equals(LIVE)) {
      return service.serve(ctx, request); // says that the process lives, however busy it is
    }
    long kept = keptBytes(request);
    boolean tooMany = inFlight.incrementAndGet() > most;
    boolean tooMuch = bytes.addAndGet(kept) > mostBytes;
    if (tooMany || tooMuch) {
      leave(kept);
      Body.drop(request);
      onOverload.run();
      return Replies.problem(
          HttpStatus.SERVICE_UNAVAILABLE, "the service is overloaded; try again later");
    }
    HttpResponse response;
    try {
      response = service.serve(ctx, request);
    } catch (Throwable e) {
      leave(kept);
      throw e;
    }
    var unused = response.whenComplete().whenComplete((done, failure) -> leave(kept));
    return response;
  }

  private void leave(long kept) {
    inFlight.decrementAndGet();
    bytes.addAndGet(-kept);
  }

  /** How much of a body may be kept in memory. */
  private long keptBytes(HttpRequest request) {
    if (request.isEmpty()) {
      return 0;
    }
    long declared = request.headers().contentLength();
    return declared < 0 ? mostRequestBytes : Math.min(declared, mostRequestBytes);
  }
}
