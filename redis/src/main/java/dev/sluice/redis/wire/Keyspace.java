package dev.sluice.redis.wire;

import dev.sluice.Account;
import dev.sluice.Identity;
import dev.sluice.Rule;
import dev.sluice.internal.Text;
import io.lettuce.core.cluster.SlotHash;

/** The names of keys. Immutable. */
public final class Keyspace {
  /*
   * An account's key is  s2:{19}:signIn:login=ann
   *
   * Accounts are spread over 64 partitions by a hash of the identity, so all rules of one caller
   * are in one Cluster slot. The accounts of a colocated rule are in the partition of the rule's
   * name, and have a '+' behind the braces. The braces hold the tag of the partition. Partition i
   * has one slot out of 256 i to 256 i + 255, so masters with equally many slots have equally many
   * partitions.
   *
   * In a Cluster the hash has a secret key (see Spread). So an attacker who can choose identities,
   * such as logins to try, cannot choose the master that counts them.
   *
   * The "2" is the version of the layout: a new layout starts empty, and the old keys expire by
   * themselves. Identities are percent-encoded, so no two share a key. They contain neither '!' nor
   * braces: other keys of an account are its key, a '!' and a suffix.
   */

  /** The number of partitions. */
  public static final int PARTITIONS = 64;

  /** The prefix of calls with an id on a single Redis, whatever rules they name. */
  public static final String CALLS = "s2:!call:";

  /** The channel for announcements of refunds. */
  public static final String REFUNDS = "s2:refunds";

  /** The key of the shared rule file. */
  public static final String RULES = "s2:rules";

  /** The key of the shared keys for receipts. */
  public static final String RECEIPT_KEYS = "s2:receipt-keys";

  /** The key of the secret that spreads accounts over a Cluster. */
  public static final String SPREAD_KEY = "s2:spread-key";

  /** The key of the record which libraries are in use. */
  public static final String LIBRARIES = "s2:libraries";

  /** The prefix of the data that nodes share beside the accounts. */
  public static final String DATA = "s2:data:";

  /** The keyspace of a Redis that is no Cluster. */
  public static final Keyspace UNKEYED = new Keyspace(0);

  /** The size of the prime field over which the keyed hash is a polynomial. */
  private static final long PRIME = (1L << 61) - 1;

  /** The prefix of every key of a partition, such as s2:{19}. */
  private static final String[] PREFIXES = new String[PARTITIONS];

  private static final int[] SLOTS = new int[PARTITIONS];

  static {
    int found = 0;
    for (int i = 0; found < PARTITIONS; i++) {
      String prefix = "s2:{" + Integer.toString(i, Character.MAX_RADIX) + "}";
      int slot = SlotHash.getSlot(prefix);
      int partition = slot * PARTITIONS / SlotHash.SLOT_COUNT;
      if (PREFIXES[partition] == null) {
        PREFIXES[partition] = prefix;
        SLOTS[partition] = slot;
        found++;
      }
    }
  }

  private final long hashKey;

  private Keyspace(long hashKey) {
    this.hashKey = hashKey;
  }

  /** A keyspace that spreads accounts by a hash with a secret key. */
  public static Keyspace keyed(long secret) {
    return new Keyspace(2 + Long.remainderUnsigned(mixed(secret), PRIME - 2));
  }

  /** The key of an account. */
  public String key(Account account) {
    return String.join("", parts(account));
  }

  /** The key of an account, in parts. */
  String[] parts(Account account) {
    String identity = account.identity().toString();
    int partition = partition(account.colocated() ? account.rule() : identity);
    String before = account.colocated() ? "+:" : ":";
    return new String[] {PREFIXES[partition], before, account.rule(), ":", identity};
  }

  /** The Cluster slot of a partition. Each partition has a slot of its own. */
  public static int slot(int partition) {
    return SLOTS[partition];
  }

  /** The partition of an account. */
  public int partition(Account account) {
    return partition(account.colocated() ? account.rule() : account.identity().toString());
  }

  private int partition(String spreading) {
    if (hashKey == 0) {
      return (int) mixed(spreading.hashCode()) & (PARTITIONS - 1);
    }
    long hash = hashKey;
    for (int i = 0; i < spreading.length(); i++) {
      hash = product(hash + spreading.charAt(i) + 1, hashKey);
    }
    return (int) mixed(hash) & (PARTITIONS - 1);
  }

  /** The product of two numbers modulo {@link #PRIME}. */
  private static long product(long a, long b) {
    long low = a * b;
    long sum = (low & PRIME) + ((low >>> 61) | (Math.multiplyHigh(a, b) << 3));
    return sum >= PRIME ? sum - PRIME : sum;
  }

  /** The prefix of calls with an id in a Cluster, in the slot of an account. */
  public String callsBeside(Account account) {
    return PREFIXES[partition(account)] + "!call:";
  }

  /** Mixes the bits of a number. */
  private static long mixed(long number) {
    long bits = number + 0x9E3779B97F4A7C15L;
    bits = (bits ^ (bits >>> 30)) * 0xBF58476D1CE4E5B9L;
    bits = (bits ^ (bits >>> 27)) * 0x94D049BB133111EBL;
    return bits ^ (bits >>> 31);
  }

  /** The key of the n-th sliding log of an account, counted from 1. */
  static String logKey(String accountKey, int nth) {
    return accountKey + "!log" + nth;
  }

  /** The key of the sums of a sliding log; see sliding_log.lua. */
  static String sumsKey(String logKey) {
    return logKey + "+";
  }

  /** The key of the set of settled receipts. */
  static String doneKey(String accountKey) {
    return accountKey + "!done";
  }

  /** The key of the notice of a lock. */
  public static String lockKey(String accountKey) {
    return accountKey + "!lock";
  }

  /** The key of the lock index of a partition. */
  public static String locksKey(int partition) {
    return PREFIXES[partition] + ":locks";
  }

  /**
   * The account of a member of a lock index. A member is {@code rule:identity}, followed by '!' if
   * the rule is colocated, so members sort like the texts of accounts.
   *
   * @throws IllegalArgumentException if it names no account
   */
  public static Account lockedAccount(String member) {
    boolean colocated = member.endsWith("!");
    String text = colocated ? member.substring(0, member.length() - 1) : member;
    int colon = text.indexOf(':');
    if (colon < 1) {
      throw new IllegalArgumentException("not an account: " + Text.quoted(member));
    }
    Rule.checkName(text.substring(0, colon));
    String identity = text.substring(colon + 1);
    Account account =
        new Account(
            text.substring(0, colon),
            identity.isEmpty() ? Identity.none() : Identity.parse(identity),
            colocated);
    if (!account.toString().equals(text)) {
      throw new IllegalArgumentException("not an account: " + Text.quoted(member));
    }
    return account;
  }
}
