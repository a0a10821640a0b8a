package dev.sluice.redis.wire;

import io.lettuce.core.internal.ExceptionFactory;
import io.lettuce.core.output.CommandOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.protocol.RedisCommand;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import java.util.concurrent.CancellationException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** A call of the library under way: a command of the client that encodes itself. */
final class Flight implements RedisCommand<String, String, byte[]> {
  private final Head head;
  private final Arguments arguments;
  private final BiConsumer<byte @Nullable [], @Nullable Throwable> then;
  private final Reply.Output output = new Reply.Output(Utf8.CODEC);
  private final AtomicBoolean done = new AtomicBoolean();
  private volatile boolean cancelled;

  /** What a call runs: a command such as FCALL, and the name or the text of the library. */
  static final class Head {
    private final CommandType type;
    private final Frame words;

    Head(CommandType type, String what) {
      this.type = type;
      this.words = new Frame(what.length());
      words.add(type.name());
      words.add(what);
    }
  }

  /**
   * A call.
   *
   * @param then receives the reply or the error, once
   */
  Flight(Head head, Arguments arguments, BiConsumer<byte @Nullable [], @Nullable Throwable> then) {
    this.head = head;
    this.arguments = arguments;
    this.then = then;
  }

  /** Writes the command; more than once if a Cluster node sends it on to another. */
  @Override
  public void encode(ByteBuf to) {
    Frame keys = arguments.keys();
    Frame words = arguments.words();
    String many = Integer.toString(keys.count());
    String begin = "*" + (head.words.count() + 1 + keys.count() + words.count()) + "\r\n";
    String number = "$" + many.length() + "\r\n" + many + "\r\n";
    to.ensureWritable(
        begin.length() + head.words.size() + number.length() + keys.size() + words.size());
    ByteBufUtil.writeAscii(to, begin);
    head.words.copyTo(to);
    ByteBufUtil.writeAscii(to, number);
    keys.copyTo(to);
    words.copyTo(to);
  }

  @Override
  public void complete() {
    if (output.hasError()) {
      end(null, ExceptionFactory.createExecutionException(output.getError()));
    } else {
      end(output.get(), null);
    }
  }

  @Override
  public boolean completeExceptionally(Throwable error) {
    return end(null, error);
  }

  @Override
  public void cancel() {
    cancelled = true;
    end(null, new CancellationException());
  }

  private boolean end(byte @Nullable [] reply, @Nullable Throwable error) {
    boolean first = done.compareAndSet(false, true);
    if (first) {
      then.accept(reply, error);
    }
    return first;
  }

  @Override
  public boolean isDone() {
    return done.get();
  }

  @Override
  public boolean isCancelled() {
    return cancelled;
  }

  @Override
  public CommandType getType() {
    return head.type;
  }

  /** Only the first key, by which the client of a Cluster finds the node. */
  @Override
  public CommandArgs<String, String> getArgs() {
    CommandArgs<String, String> args = new CommandArgs<>(Utf8.CODEC);
    String key = arguments.firstKey();
    return key == null ? args : args.addKey(key);
  }

  @Override
  public CommandOutput<String, String, byte[]> getOutput() {
    return output;
  }

  @Override
  public void setOutput(CommandOutput<String, String, byte[]> other) {
    throw new UnsupportedOperationException("a call of the library reads its own reply");
  }
}
