package dev.sluice.redis.prove;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * One decision as its caller recorded it. Moments are microseconds of the machine's clock.
 *
 * @param sent just before it was asked for; of a call sent again, the first time
 * @param received just after it was answered; of a call sent again, the last time
 * @param at when Redis took it, as its receipt says; 0 if it took nothing
 * @param lockedUntil the end of the lock that was reported, or 0
 */
record Entry(
    Workload.Ask ask, Outcome outcome, long sent, long received, long at, long lockedUntil) {
  /** What became of a call. */
  enum Outcome {
    ADMITTED,
    DENIED,
    /**
     * Redis gave no clear answer, and the rule says what then: denied. It may have been counted.
     */
    POLICY,
    /** An exception instead of an answer. */
    ERROR
  }

  void write(DataOutputStream out) throws IOException {
    out.writeByte(ask.way());
    out.writeInt(ask.member());
    out.writeInt(ask.address());
    out.writeByte(ask.cost());
    out.writeUTF(outcome.name());
    out.writeLong(sent);
    out.writeLong(received);
    out.writeLong(at);
    out.writeLong(lockedUntil);
  }

  private static Entry read(DataInputStream in, int way) throws IOException {
    Workload.Ask ask = new Workload.Ask(way, in.readInt(), in.readInt(), in.readByte());
    return new Entry(
        ask,
        Outcome.valueOf(in.readUTF()),
        in.readLong(),
        in.readLong(),
        in.readLong(),
        in.readLong());
  }

  /** Adds everything that a process wrote. */
  static void readAll(Path file, List<Entry> to) throws IOException {
    try (DataInputStream in =
        new DataInputStream(new BufferedInputStream(Files.newInputStream(file), 1 << 16))) {
      for (int way = in.read(); way >= 0; way = in.read()) {
        to.add(read(in, way));
      }
    } catch (EOFException e) {
      throw new IOException(file + " ends within an entry", e);
    }
  }
}
