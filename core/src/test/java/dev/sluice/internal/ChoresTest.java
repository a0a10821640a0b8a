package dev.sluice.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ChoresTest {
  private final ScheduledExecutorService shared = Daemon.scheduled("shared");

  @AfterEach
  void end() {
    shared.shutdownNow();
  }

  private void awaitWhatIsDue() throws InterruptedException, ExecutionException, TimeoutException {
    shared.submit(() -> {}).get(10, TimeUnit.SECONDS);
  }

  @Test
  void closedChoresOfASharedThreadRunNoMoreAndLeaveTheThreadToOthers() throws Exception {
    Chores closed = Chores.on(shared);
    Chores others = Chores.on(shared);
    AtomicInteger runs = new AtomicInteger();
    CountDownLatch twice = new CountDownLatch(2);
    CountDownLatch moreOften = new CountDownLatch(20);
    closed.every(
        Duration.ZERO,
        Duration.ofMillis(1),
        () -> {
          runs.incrementAndGet();
          twice.countDown();
        });
    others.every(Duration.ZERO, Duration.ofMillis(1), moreOften::countDown);
    assertThat(twice.await(10, TimeUnit.SECONDS)).isTrue();

    closed.close();
    awaitWhatIsDue();
    int before = runs.get();

    assertThat(moreOften.await(10, TimeUnit.SECONDS)).isTrue();
    assertThat(runs).hasValue(before);
    assertThatThrownBy(() -> closed.execute(() -> {}))
        .isInstanceOf(RejectedExecutionException.class);
  }

  @Test
  void closedChoresEndTheirOwnThread() throws Exception {
    Chores alone = Chores.alone("alone");
    CountDownLatch ran = new CountDownLatch(1);
    Thread[] thread = new Thread[1];
    alone.execute(
        () -> {
          thread[0] = Thread.currentThread();
          ran.countDown();
        });
    assertThat(ran.await(10, TimeUnit.SECONDS)).isTrue();

    alone.close();
    thread[0].join(10_000);

    assertThat(thread[0].isAlive()).isFalse();
  }
}
