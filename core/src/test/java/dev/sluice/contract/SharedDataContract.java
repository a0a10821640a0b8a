package dev.sluice.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.store.SharedData;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What the shared data of every store must do. */
public interface SharedDataContract {
  /** Data without anything in it. */
  SharedData data();

  /** Lets time pass for the data. */
  void pass(Duration time);

  private static <T> T now(CompletionStage<T> stage) {
    try {
      return stage.toCompletableFuture().get(10, TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  default void aValueIsThereUntilItsTimeIsOver() {
    SharedData data = data();

    now(data.put("session:a", "1", Duration.ofMillis(400)));
    now(data.put("session:b", "2", Duration.ofMinutes(1)));

    assertThat(now(data.get("session:a"))).contains("1");
    assertThat(now(data.get("session:c"))).isEmpty();
    pass(Duration.ofMillis(500));
    assertThat(now(data.get("session:a"))).isEmpty();
    assertThat(now(data.get("session:b"))).contains("2");
    assertThat(now(data.remove("session:b"))).isTrue();
    assertThat(now(data.remove("session:b"))).isFalse();
    assertThat(now(data.get("session:b"))).isEmpty();
  }

  @Test
  default void oneOwnerAtATimeHasALease() {
    SharedData data = data();

    assertThat(now(data.lease("writer", "a", Duration.ofMillis(400)))).isTrue();
    assertThat(now(data.lease("writer", "b", Duration.ofMinutes(1)))).isFalse();
    assertThat(now(data.lease("writer", "a", Duration.ofMillis(400)))).isTrue();
    pass(Duration.ofMillis(500));
    assertThat(now(data.lease("writer", "b", Duration.ofMinutes(1)))).isTrue();
    assertThat(now(data.lease("writer", "a", Duration.ofMinutes(1)))).isFalse();
  }

  @Test
  default void everyChangeOfAMapRaisesItsVersion() {
    SharedData data = data();
    assertThat(now(data.version("map"))).isZero();

    assertThat(now(data.putEntry("map", "a", "1", 2))).isTrue();
    long first = now(data.version("map"));
    assertThat(now(data.putEntry("map", "b", "2", 2))).isTrue();
    SharedData.Entries second = now(data.entries("map"));
    assertThat(now(data.removeEntry("map", "a"))).isTrue();
    long third = now(data.version("map"));

    assertThat(second.values()).isEqualTo(Map.of("a", "1", "b", "2"));
    assertThat(first).isPositive().isLessThan(second.version());
    assertThat(third).isGreaterThan(second.version());
    assertThat(now(data.entries("map"))).isEqualTo(new SharedData.Entries(third, Map.of("b", "2")));
    assertThat(now(data.removeEntry("map", "a"))).isFalse();
    assertThat(now(data.version("map"))).isEqualTo(third);
  }

  @Test
  default void aFullMapTakesNoNewEntryButChangesOldOnes() {
    SharedData data = data();
    now(data.putEntry("map", "a", "1", 2));
    now(data.putEntry("map", "b", "2", 2));

    assertThat(now(data.putEntry("map", "c", "3", 2))).isFalse();
    assertThat(now(data.putEntry("map", "b", "4", 2))).isTrue();

    assertThat(now(data.entries("map")).values()).isEqualTo(Map.of("a", "1", "b", "4"));
  }

  @Test
  default void aLostMapIsPutBackAsItWas() {
    SharedData data = data();
    SharedData.Entries known = new SharedData.Entries(1_000, Map.of("a", "1", "b", "2"));

    assertThat(now(data.putBack("map", known))).isTrue();

    assertThat(now(data.entries("map"))).isEqualTo(known);
    assertThat(now(data.putBack("map", known))).isFalse();
    assertThat(now(data.putBack("map", new SharedData.Entries(999, Map.of("c", "3"))))).isFalse();
    assertThat(now(data.entries("map"))).isEqualTo(known);
    SharedData.Entries newer = new SharedData.Entries(1_001, Map.of("c", "3"));
    assertThat(now(data.putBack("map", newer))).isTrue();
    assertThat(now(data.entries("map"))).isEqualTo(newer);
  }

  @Test
  default void aMapWhoseLastEntryWasRemovedIsNotPutBack() {
    SharedData data = data();
    now(data.putEntry("map", "a", "1", 2));
    SharedData.Entries known = now(data.entries("map"));

    now(data.removeEntry("map", "a"));

    assertThat(now(data.version("map"))).isGreaterThan(known.version());
    assertThat(now(data.putBack("map", known))).isFalse();
    assertThat(now(data.entries("map")).values()).isEmpty();
  }

  @Test
  default void aMapThatIsPutBackHasABound() {
    SharedData data = data();
    Map<String, String> large = new HashMap<>();
    for (int i = 0; i < 65; i++) {
      large.put("e" + i, "x".repeat(SharedData.LONGEST_VALUE));
    }

    assertThatThrownBy(() -> now(data.putBack("map", new SharedData.Entries(9, large))))
        .hasMessageContaining("map: 17,039,");
    assertThat(now(data.version("map"))).isZero();
  }

  @Test
  default void membersLeaveAGroupUnlessTheyAreAnnouncedAgain() {
    SharedData data = data();

    assertThat(now(data.announce("nodes", "a", "1", Duration.ofMillis(400)))).isTrue();
    assertThat(now(data.announce("nodes", "b", "2", Duration.ofMinutes(1)))).isTrue();
    assertThat(now(data.members("nodes"))).isEqualTo(Map.of("a", "1", "b", "2"));
    pass(Duration.ofMillis(500));

    assertThat(now(data.members("nodes"))).isEqualTo(Map.of("b", "2"));
    assertThat(now(data.announce("nodes", "b", "3", Duration.ofMinutes(1)))).isTrue();
    assertThat(now(data.members("nodes"))).isEqualTo(Map.of("b", "3"));
    assertThat(now(data.members("others"))).isEmpty();
  }

  @Test
  default void aGroupHasABound() {
    SharedData data = data();
    for (int i = 0; i < SharedData.MOST_MEMBERS; i++) {
      assertThat(now(data.announce("nodes", "n" + i, "", Duration.ofMinutes(1)))).isTrue();
    }

    assertThat(now(data.announce("nodes", "one more", "", Duration.ofMinutes(1)))).isFalse();

    assertThat(now(data.announce("nodes", "n7", "again", Duration.ofMinutes(1)))).isTrue();
    assertThat(now(data.members("nodes")))
        .hasSize(SharedData.MOST_MEMBERS)
        .containsEntry("n7", "again");
  }

  @Test
  default void aLogReturnsTheNewestFirstInPagesAndForgetsTheOldest() {
    SharedData data = data();

    now(data.append("audit", List.of("1", "2", "3"), 4, Duration.ofMinutes(1)));
    now(data.append("audit", List.of("4", "5"), 4, Duration.ofMinutes(1)));

    List<SharedData.Entry> first = now(data.newest("audit", 3, null));
    assertThat(first).extracting(SharedData.Entry::text).containsExactly("5", "4", "3");
    assertThat(first).allSatisfy(entry -> assertThat(SharedData.Entry.isId(entry.id())).isTrue());
    assertThat(now(data.newest("audit", 3, first.get(2).id())))
        .extracting(SharedData.Entry::text)
        .containsExactly("2");
    assertThat(now(data.newest("nothing", 3, null))).isEmpty();
  }

  @Test
  default void aLogIsForgottenAfterItsTime() {
    SharedData data = data();
    now(data.append("refusals", List.of("1"), 10, Duration.ofMillis(400)));

    pass(Duration.ofMillis(500));

    assertThat(now(data.newest("refusals", 3, null))).isEmpty();
  }

  @Test
  default void namesAndValuesHaveBounds() {
    SharedData data = data();
    String tooLong = "x".repeat(SharedData.LONGEST_VALUE + 1);

    for (String name : List.of("", "A", "a b", "{a}", "x".repeat(129))) {
      assertThatThrownBy(() -> now(data.put(name, "1", Duration.ofMinutes(1))))
          .hasMessageContaining("expected: 1 to 128 of a-z, 0-9, '-' and ':'");
    }
    assertThatThrownBy(() -> now(data.put("a", tooLong, Duration.ofMinutes(1))))
        .hasMessageContaining("a: 262,145 characters (expected: at most 262,144)");
  }
}
