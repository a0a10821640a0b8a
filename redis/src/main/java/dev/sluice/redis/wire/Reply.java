package dev.sluice.redis.wire;

import io.lettuce.core.codec.RedisCodec;
import io.lettuce.core.output.CommandOutput;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** The numbers in a reply of the library. */
public final class Reply {
  /** Everything was taken; the reply has the short form. */
  static final long PLAINLY = 2;

  /** Nothing was done: the call lacks the calendar windows around the time that follows. */
  static final long LACKS_ROUND = 3;

  /** Nothing was done: the id was used for another question. */
  static final long ID_REUSED = 4;

  /** Nothing was done: the call has to write, but may not. */
  static final long MAY_NOT_WRITE = 5;

  /** Nothing was done: the short script decides only what is usual. */
  static final long NOT_PLAIN = 6;

  /** A wait without end. */
  static final long NEVER = (1L << 53) - 1;

  private static final int BYTES = 7;
  private static final long MASK = (1L << (8 * BYTES)) - 1;

  private final ByteBuffer numbers;
  final long now;
  final long foreign;

  Reply(byte[] bytes) {
    this.numbers = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    this.now = next();
    this.foreign = next();
  }

  long next() {
    long number = peek();
    numbers.position(numbers.position() + BYTES);
    return number;
  }

  /** The next number, without consuming it. */
  long peek() {
    return numbers.getLong(numbers.position()) & MASK;
  }

  /** Keeps the bytes of a reply as they are. */
  static final class Output extends CommandOutput<String, String, byte[]> {
    Output(RedisCodec<String, String> codec) {
      super(codec, new byte[0]);
    }

    @Override
    public void set(ByteBuffer bytes) {
      int length = bytes == null ? 0 : bytes.remaining();
      output = new byte[length + 1]; // so that eight bytes can be read at the last number
      if (bytes != null) {
        bytes.get(output, 0, length);
      }
    }
  }
}
