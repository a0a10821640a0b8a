package dev.sluice.redis;

import dev.sluice.Account;
import dev.sluice.Identity;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/** The names of keys. */
final class Keyspace {
  /*
   * An account's key is  s1:{9f3c}:SignIn:login=ann
   *
   * The braces hold a hash of the identity, so every rule of one caller lives in one Cluster slot and
   * nobody can choose theirs; of a colocated rule they hold a hash of its name. "1" is the layout's
   * version: a new layout starts empty and the old keys expire by themselves. Identities are
   * percent-encoded, so that no two share a key, and hold neither '!' nor braces: what belongs to an
   * account has its key with '!' and a word behind it.
   */
  static final String GIFTS = "s1:gifts";
  static final String RULES = "s1:rules";
  private static final String PREFIX = "s1:{";

  /** A byte in two digits. */
  private static final String[] HEX = new String[256];

  static {
    for (int i = 0; i < HEX.length; i++) {
      HEX[i] = HexFormat.of().toHexDigits((byte) i);
    }
  }

  private Keyspace() {}

  static String key(Account account) {
    String identity = account.identity().toString();
    int hash = mixed((account.colocated() ? account.rule() : identity).hashCode());
    return PREFIX
        + HEX[(hash >>> 8) & 255]
        + HEX[hash & 255]
        + (account.colocated() ? "+}:" : "}:")
        + account.rule()
        + ":"
        + identity;
  }

  /** Spreads a hash code over all its bits. */
  private static int mixed(int hash) {
    int h = hash * 0x9E3779B9;
    h ^= h >>> 15;
    h *= 0x85EBCA6B;
    return h ^ (h >>> 13);
  }

  /** A pattern for the announcements of all locks, or of those of one rule. */
  static String lockPattern(@Nullable String rule) {
    return PREFIX + "*}:" + (rule == null ? "*" : rule) + ":*!lock";
  }

  static String logKey(String accountKey) {
    return accountKey + "!log";
  }

  static String lockKey(String accountKey) {
    return accountKey + "!lock";
  }

  /** The account whose lock is announced under a key. */
  static Account lockedAccount(String lockKey) {
    int tag = lockKey.indexOf("}:");
    int name = lockKey.indexOf(':', tag + 2);
    String identity = lockKey.substring(name + 1, lockKey.length() - "!lock".length());
    return new Account(
        lockKey.substring(tag + 2, name), Identity.parse(identity), lockKey.charAt(tag - 1) == '+');
  }
}
