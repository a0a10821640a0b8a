package dev.sluice.redis.wire;

import dev.sluice.Account;
import dev.sluice.Receipt;
import dev.sluice.internal.Durations;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** Confirms what a call over several slots took in one of them. */
public final class CloseOperation extends Operation<Map<Account, Long>> {
  private final long openUntil;
  private final List<Receipt.Entry> entries;

  /** Confirms some entries of a receipt. */
  public CloseOperation(Keyspace keyspace, Receipt receipt, List<Receipt.Entry> entries) {
    super(keyspace);
    this.openUntil = receipt.takenAtMicros() + Durations.micros(HOLD);
    this.entries = entries;
  }

  @Override
  void nameKeysBeside(Consumer<String> to) {
    for (Receipt.Entry entry : entries) {
      nameLogs(entry.account(), entry.terms(), entry.cost(), to);
    }
  }

  /** If it is lost, what was taken stays held for a few seconds. */
  @Override
  boolean isSafeToResend() {
    return false;
  }

  @Override
  void write(Arguments to) {
    to.add("C");
    to.add(openUntil);
    to.add(entries.size());
    for (Receipt.Entry entry : entries) {
      to.add(to.encoded(entry.terms()));
      to.add(entry.cost());
    }
    place(entries, to);
  }

  /** The end of each lock that the call caused. */
  @Override
  Map<Account, Long> read(Reply reply) {
    Map<Account, Long> locked = new HashMap<>();
    for (Receipt.Entry entry : entries) {
      long until = reply.next();
      if (until != 0) {
        locked.put(entry.account(), until);
      }
    }
    return locked;
  }
}
