package dev.sluice.redis.wire;

import dev.sluice.Account;
import dev.sluice.Restriction;
import dev.sluice.internal.Durations;
import java.time.Duration;
import java.time.Instant;

/** A lock by hand of one account. */
public final class LockOperation extends Operation<Restriction> {
  private final Account account;
  private final Duration length;
  private final String reason;

  /** Locks an account. */
  public LockOperation(Keyspace keyspace, Account account, Duration length, String reason) {
    super(keyspace);
    this.account = account;
    this.length = length;
    this.reason = reason;
  }

  @Override
  void write(Arguments to) {
    to.add("K");
    to.place(keyspace, account);
    to.addPlaces();
    to.add(Durations.micros(length));
    to.add(EncodedTerms.reason(reason));
  }

  @Override
  Restriction read(Reply reply) {
    Instant until = instant(reply.next());
    return new Restriction(account, instant(reply.next()), until, reason);
  }

  private static Instant instant(long micros) {
    return Instant.EPOCH.plus(Durations.ofMicros(micros));
  }
}
