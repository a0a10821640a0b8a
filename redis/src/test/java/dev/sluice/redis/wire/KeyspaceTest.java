package dev.sluice.redis.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Account;
import dev.sluice.Identity;
import io.lettuce.core.cluster.SlotHash;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class KeyspaceTest {
  private static final int SLOTS_EACH = SlotHash.SLOT_COUNT / Keyspace.PARTITIONS;

  @Test
  void partitionsAreSpreadEvenlyOverTheSlots() {
    Set<String> keys = new HashSet<>();
    for (int i = 0; i < Keyspace.PARTITIONS; i++) {
      String key = Keyspace.locksKey(i);
      keys.add(key);
      assertThat(key.length()).as(key).isLessThanOrEqualTo("s2:{abc}:locks".length());
      assertThat(SlotHash.getSlot(key)).as(key).isBetween(SLOTS_EACH * i, SLOTS_EACH * (i + 1) - 1);
    }
    assertThat(keys).hasSize(Keyspace.PARTITIONS);
    for (int masters = 2; masters <= 16; masters++) {
      int[] each = new int[masters];
      for (int i = 0; i < Keyspace.PARTITIONS; i++) {
        each[SlotHash.getSlot(Keyspace.locksKey(i)) * masters / SlotHash.SLOT_COUNT]++;
      }
      int fair = Keyspace.PARTITIONS / masters;
      assertThat(Arrays.stream(each).min().orElse(0))
          .as("%d masters", masters)
          .isBetween(fair - 1, fair);
      assertThat(Arrays.stream(each).max().orElse(0))
          .as("%d masters", masters)
          .isBetween(fair, fair + 2);
    }
  }

  @Test
  void identitiesAreSpreadEvenlyOverThePartitions() {
    int[] each = new int[Keyspace.PARTITIONS];
    for (int i = 0; i < 64_000; i++) {
      each[Keyspace.UNKEYED.partition(new Account("r", Identity.of("member", "m" + i)))]++;
    }
    assertThat(Arrays.stream(each)).allMatch(many -> many > 800 && many < 1_200);
  }

  @Test
  void everyKeyOfAnAccountLiesInItsPartition() {
    for (boolean colocated : new boolean[] {false, true}) {
      Account account = new Account("signIn", Identity.of("login", "ann"), colocated);
      int slot = SlotHash.getSlot(Keyspace.locksKey(Keyspace.UNKEYED.partition(account)));
      String key = Keyspace.UNKEYED.key(account);
      assertThat(SlotHash.getSlot(key)).isEqualTo(slot);
      assertThat(SlotHash.getSlot(Keyspace.lockKey(key))).isEqualTo(slot);
      assertThat(SlotHash.getSlot(Keyspace.logKey(key, 1))).isEqualTo(slot);
    }
  }

  @Test
  void memberOfAnIndexNamesItsAccount() {
    Identity odd = Identity.of("member", "a:b&c!{x}\u00e9", "ip", "::1");
    for (Account account :
        new Account[] {
          new Account("r", odd),
          new Account("r", odd, true),
          new Account("r", Identity.none(), true)
        }) {
      String member = account + (account.colocated() ? "!" : "");
      assertThat(Keyspace.lockedAccount(member)).isEqualTo(account);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "!",
        ":",
        "r",
        "r!",
        ":a=b",
        "r r:a=b",
        "r:a",
        "r:a=b=%",
        "r:a=%zz",
        "r:b=1&a=1",
        "r:a=b!!"
      })
  void memberThatNamesNoAccountIsRefused(String member) {
    assertThatThrownBy(() -> Keyspace.lockedAccount(member))
        .isInstanceOf(IllegalArgumentException.class);
  }
}
