package dev.sluice.redis.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.util.Timeout;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class QuietTimerTest {
  private final QuietTimer timer = new QuietTimer();
  private final CountDownLatch ran = new CountDownLatch(1);

  @AfterEach
  void stop() {
    timer.stop();
  }

  private void awaitNext() throws InterruptedException {
    Timeout unused = timer.newTimeout(next -> ran.countDown(), 20, TimeUnit.MILLISECONDS);
    assertThat(ran.await(10, TimeUnit.SECONDS)).isTrue();
  }

  @Test
  void taskIsExpiredOnceItRan() throws InterruptedException {
    Timeout due = timer.newTimeout(task -> {}, 1, TimeUnit.MILLISECONDS);
    awaitNext();

    assertThat(due.isExpired()).isTrue();
    assertThat(due.cancel()).isFalse();
    assertThat(due.isCancelled()).isFalse();
  }

  @Test
  void cancelledTaskDoesNotRun() throws InterruptedException {
    CountDownLatch cancelled = new CountDownLatch(1);
    Timeout due = timer.newTimeout(task -> cancelled.countDown(), 10, TimeUnit.MILLISECONDS);
    assertThat(due.cancel()).isTrue();
    awaitNext();

    assertThat(cancelled.getCount()).isOne();
    assertThat(due.isCancelled()).isTrue();
    assertThat(due.isExpired()).isFalse();
  }

  @Test
  void taskThatThrowsDoesNotHurtTheNext() throws InterruptedException {
    Timeout unused =
        timer.newTimeout(
            task -> {
              throw new IllegalStateException("on purpose");
            },
            1,
            TimeUnit.MILLISECONDS);

    awaitNext();
  }

  @Test
  void stoppedTimerTakesNoTask() {
    timer.stop();

    assertThatThrownBy(() -> timer.newTimeout(task -> {}, 1, TimeUnit.MILLISECONDS))
        .isInstanceOf(RejectedExecutionException.class);
  }
}
