package dev.sluice.redis.wire;

import dev.sluice.Account;
import java.util.List;

/** A reset or a lift of one account. */
public final class ManageOperation extends Operation<Long> {
  private final String letter;
  private final Account account;
  private final List<String> words;

  private ManageOperation(Keyspace keyspace, String letter, Account account, String... words) {
    super(keyspace);
    this.letter = letter;
    this.account = account;
    this.words = List.of(words);
  }

  /** Forgets the usage and the lock of an account. */
  public static ManageOperation reset(Keyspace keyspace, Account account) {
    return new ManageOperation(keyspace, "X", account);
  }

  /** Lifts the lock of an account. */
  public static ManageOperation lift(Keyspace keyspace, Account account, boolean keepUsage) {
    return new ManageOperation(keyspace, "U", account, keepUsage ? "1" : "0");
  }

  @Override
  void write(Arguments to) {
    to.add(letter);
    to.place(keyspace, account);
    to.addPlaces();
    words.forEach(to::add);
  }

  @Override
  Long read(Reply reply) {
    return reply.next();
  }
}
