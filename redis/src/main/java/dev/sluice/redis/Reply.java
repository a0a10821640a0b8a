package dev.sluice.redis;

import io.lettuce.core.codec.RedisCodec;
import io.lettuce.core.output.CommandOutput;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** The numbers that a call of the library replies with. */
final class Reply {
  /** Nothing was done; the call lacks calendar rounds around the moment that follows. */
  static final long LACKS_ROUND = -2;

  /** Nothing was done; the id was used for another question. */
  static final long ID_REUSED = -3;

  /** Nothing was done; it would have been, but nothing may be written. */
  static final long MAY_NOT_WRITE = -4;

  private final ByteBuffer numbers;
  final long now;
  final long foreign;

  Reply(byte[] bytes) {
    this.numbers = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    this.now = next();
    this.foreign = next();
  }

  long next() {
    return (long) numbers.getDouble();
  }

  /** The next number, which stays the next. */
  long peek() {
    return (long) numbers.getDouble(numbers.position());
  }

  /** Takes a reply off the wire as it is. */
  static final class Output extends CommandOutput<String, String, byte[]> {
    Output(RedisCodec<String, String> codec) {
      super(codec, new byte[0]);
    }

    @Override
    public void set(ByteBuffer bytes) {
      output = new byte[bytes == null ? 0 : bytes.remaining()];
      if (bytes != null) {
        bytes.get(output);
      }
    }
  }
}
