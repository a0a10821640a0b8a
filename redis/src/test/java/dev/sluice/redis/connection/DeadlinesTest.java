package dev.sluice.redis.connection;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.redis.wire.StoreFault;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.DefaultEventLoop;
import io.netty.channel.EventLoop;
import io.netty.channel.local.LocalAddress;
import io.netty.channel.local.LocalChannel;
import io.netty.channel.local.LocalServerChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Deadlines on a real connection to a server that the test plays. */
class DeadlinesTest {
  private final EventLoop reading = new DefaultEventLoop();
  private final EventLoop answering = new DefaultEventLoop();
  private final Pulse.Meter meter = new Pulse.Meter();
  private final CompletableFuture<Channel> otherEnd = new CompletableFuture<>();
  private Deadlines deadlines;
  private Deadlines.Line line;

  @BeforeEach
  void connect() throws Exception {
    LocalAddress address = new LocalAddress(DeadlinesTest.class);
    new ServerBootstrap()
        .group(answering)
        .channel(LocalServerChannel.class)
        .childHandler(
            new ChannelInitializer<Channel>() {
              @Override
              protected void initChannel(Channel channel) {
                otherEnd.complete(channel);
              }
            })
        .bind(address)
        .sync();
    new Bootstrap()
        .group(reading)
        .channel(LocalChannel.class)
        .handler(
            new ChannelInitializer<Channel>() {
              @Override
              protected void initChannel(Channel channel) {
                Pulse.watch(channel, unused -> List.of(meter));
              }
            })
        .connect(address)
        .sync();
    deadlines = new Deadlines(Duration.ofMillis(100));
    line = deadlines.line(meter);
  }

  @AfterEach
  void close() {
    deadlines.close();
    reading.shutdownGracefully(0, 0, TimeUnit.SECONDS).awaitUninterruptibly();
    answering.shutdownGracefully(0, 0, TimeUnit.SECONDS).awaitUninterruptibly();
  }

  private static StoreFault faultOf(CompletableFuture<?> call) {
    return (StoreFault) call.handle((value, error) -> error).orTimeout(30, TimeUnit.SECONDS).join();
  }

  @Test
  void callThatNobodyAnswersFailsAndItsNodeIsDown() {
    CompletableFuture<String> call = new CompletableFuture<>();
    line.watch(call);

    StoreFault fault = faultOf(call);

    assertThat(fault.kind()).isEqualTo("timeout");
    assertThat(fault.unresponsive()).isTrue();
  }

  @Test
  void nodeThatAnsweredSomethingElseIsNotDown() {
    CompletableFuture<String> call = new CompletableFuture<>();
    line.watch(call);
    otherEnd.join().writeAndFlush("the answer to another call").awaitUninterruptibly();

    assertThat(faultOf(call).unresponsive()).isFalse();
  }

  @Test
  void callsFailAlsoIfTheThreadThatReadsHangs() throws Exception {
    CountDownLatch hangs = new CountDownLatch(1);
    CountDownLatch ended = new CountDownLatch(1);
    reading.execute(
        () -> {
          hangs.countDown();
          awaitQuietly(ended);
        });
    hangs.await();
    CompletableFuture<String> call = new CompletableFuture<>();
    line.watch(call);

    StoreFault fault = faultOf(call);
    ended.countDown();

    assertThat(fault.kind()).isEqualTo("timeout");
  }

  @Test
  void answeredCallsAreLeftAlone() {
    CompletableFuture<String> first = new CompletableFuture<>();
    CompletableFuture<String> last = new CompletableFuture<>();
    line.watch(first);
    first.complete("answer");
    line.watch(last);
    faultOf(last);

    assertThat(first).isCompletedWithValue("answer");
  }

  @Test
  void noneOfManyCallsIsForgottenWhenTheyFailTogether() {
    List<CompletableFuture<String>> calls = new ArrayList<>();
    for (int i = 0; i < 50_000; i++) {
      CompletableFuture<String> call = new CompletableFuture<>();
      line.watch(call);
      calls.add(call);
      if (i % 3 == 0) {
        call.complete("answer");
      }
    }

    assertThat(CompletableFuture.allOf(calls.toArray(new CompletableFuture<?>[0])))
        .failsWithin(Duration.ofSeconds(60));
    assertThat(calls).allMatch(CompletableFuture::isDone);
  }

  @Test
  void whatIsUnderWayWhenItIsClosedFails() {
    CompletableFuture<String> call = new CompletableFuture<>();
    line.watch(call);
    deadlines.close();

    assertThat(faultOf(call)).hasMessageContaining("closed");
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
