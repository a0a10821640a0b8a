package dev.sluice.redis.connection;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Account;
import dev.sluice.Identity;
import dev.sluice.internal.Answer;
import dev.sluice.redis.wire.Keyspace;
import dev.sluice.redis.wire.ManageOperation;
import dev.sluice.redis.wire.Operation;
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

  /** A call under way, and its answer. */
  private record Asked(Operation<Long> operation, CompletableFuture<Long> answer) {}

  private Asked call() {
    Operation<Long> operation =
        ManageOperation.reset(Keyspace.UNKEYED, new Account("signIn", Identity.of("login", "ann")));
    Answer<Long> answer = new Answer<>();
    operation.then(answer);
    line.watch(operation);
    return new Asked(operation, answer);
  }

  private static StoreFault faultOf(Asked call) {
    return (StoreFault)
        call.answer.handle((value, error) -> error).orTimeout(30, TimeUnit.SECONDS).join();
  }

  @Test
  void callThatNobodyAnswersFailsAndItsNodeIsDown() {
    Asked call = call();

    StoreFault fault = faultOf(call);

    assertThat(fault.kind()).isEqualTo("timeout");
    assertThat(fault.unresponsive()).isTrue();
  }

  @Test
  void nodeThatAnsweredSomethingElseIsNotDown() {
    Asked call = call();
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
    Asked call = call();

    StoreFault fault = faultOf(call);
    ended.countDown();

    assertThat(fault.kind()).isEqualTo("timeout");
  }

  @Test
  void answeredCallsAreLeftAlone() {
    Asked first = call();
    first.operation.succeed(1L);
    faultOf(call());

    assertThat(first.answer).isCompletedWithValue(1L);
  }

  @Test
  void noneOfManyCallsIsForgottenWhenTheyFailTogether() {
    List<CompletableFuture<Long>> calls = new ArrayList<>();
    for (int i = 0; i < 50_000; i++) {
      Asked call = call();
      calls.add(call.answer);
      if (i % 3 == 0) {
        call.operation.succeed(1L);
      }
    }

    assertThat(CompletableFuture.allOf(calls.toArray(new CompletableFuture<?>[0])))
        .failsWithin(Duration.ofSeconds(60));
    assertThat(calls).allMatch(CompletableFuture::isDone);
  }

  @Test
  void whatIsUnderWayWhenItIsClosedFails() {
    Asked call = call();
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
