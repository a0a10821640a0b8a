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
   * Accounts are spread over 64 partitions, by a hash of the identity, so every rule of one caller
   * lives in one Cluster slot; the accounts of a colocated rule lie in the partition of the rule's
   * name, and have a '+' behind the braces. The braces hold the tag of the partition. Partition i has
   * one slot out of 256 i to 256 i + 255, so that masters with equally many slots have equally many
   * partitions. In a Cluster the hash has a secret key (see Spread): whoever can choose identities,
   * such as the logins that he tries, cannot choose the master that has to count them.
   *
   * The "2" is the layout's version: a new layout starts empty and the old keys expire by
   * themselves. Identities are percent-encoded, so that no two share a key, and hold neither '!' nor
   * braces: what belongs to an account has its key with '!' and a word behind it.
   */
  public static final int PARTITIONS = 64;

  /** Where one Redis remembers calls with an id, whatever rules they name. */
  public static final String CALLS = "s2:!call:";

  public static final String REFUNDS = "s2:refunds";
  public static final String RULES = "s2:rules";
  public static final String RECEIPT_KEYS = "s2:receipt-keys";
  public static final String SPREAD_KEY = "s2:spread-key";
  public static final String LIBRARIES = "s2:libraries";

  /** That of a Redis which is no Cluster. */
  public static final Keyspace UNKEYED = new Keyspace(0);

  /** The keyed hash is a polynomial in the key over the field of this many elements. */
  private static final long PRIME = (1L << 61) - 1;

  /** The beginning of every key of a partition, such as s2:{19}. */
  private static final String[] PREFIXES = new String[PARTITIONS];

  static {
    int found = 0;
    for (int i = 0; found < PARTITIONS; i++) {
      String prefix = "s2:{" + Integer.toString(i, Character.MAX_RADIX) + "}";
      int partition = SlotHash.getSlot(prefix) * PARTITIONS / SlotHash.SLOT_COUNT;
      if (PREFIXES[partition] == null) {
        PREFIXES[partition] = prefix;
        found++;
      }
    }
  }

  private final long hashKey;

  private Keyspace(long hashKey) {
    this.hashKey = hashKey;
  }

  /** Spreads accounts by a hash with a secret key. */
  public static Keyspace keyed(long secret) {
    return new Keyspace(2 + Long.remainderUnsigned(mixed(secret), PRIME - 2));
  }

  public String key(Account account) {
    String identity = account.identity().toString();
    int partition = partition(account.colocated() ? account.rule() : identity);
    return PREFIXES[partition]
        + (account.colocated() ? "+:" : ":")
        + account.rule()
        + ":"
        + identity;
  }

  /** The slot in which a partition lies, and nothing else of ours. */
  public static int slot(int partition) {
    return SlotHash.getSlot(PREFIXES[partition]);
  }

  /** The partition in which an account lies. */
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

  /** Where calls with an id are remembered in a Cluster: in the slot of an account. */
  public String callsBeside(Account account) {
    return PREFIXES[partition(account)] + "!call:";
  }

  /** Spreads a number over all bits. */
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

  /** The key under which settled receipts are remembered. */
  static String doneKey(String accountKey) {
    return accountKey + "!done";
  }

  public static String lockKey(String accountKey) {
    return accountKey + "!lock";
  }

  /** The key of the index of locks of a partition. */
  public static String locksKey(int partition) {
    return PREFIXES[partition] + ":locks";
  }

  /**
   * The account that a member of an index of locks names: {@code rule:identity}, and a '!' behind
   * it if the rule is colocated. So members have the order of their accounts' texts.
   *
   * @throws IllegalArgumentException if it names none
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
