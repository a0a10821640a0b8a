package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testing.Rooms;
import org.junit.jupiter.api.Test;

/** Who may know whom among the packages of the store on Redis. */
class RoomsTest {
  private final Rooms rooms = Rooms.of("dev.sluice.redis");

  @Test
  void packagesHaveNoCycles() {
    rooms.haveNoCycles();
  }

  @Test
  void theStoreKnowsNeitherHttpNorFrameworks() {
    rooms.knowNone(
        "dev.sluice.redis..", "dev.sluice.http..", "dev.sluice.server..", "org.springframework..");
  }

  @Test
  void theApiShowsNoTypeOfTheClient() {
    assertThat(
            rooms.showing(
                "dev.sluice.redis",
                "io.lettuce.",
                "io.netty.",
                "dev.sluice.internal.",
                "dev.sluice.outage.",
                "dev.sluice.redis.wire.",
                "dev.sluice.redis.connection."))
        .isEmpty();
  }

  @Test
  void packagesAreNullMarkedAndNotCrowded() {
    assertThat(rooms.notNullMarked()).isEmpty();
    assertThat(rooms.crowded()).isEmpty();
  }
}
