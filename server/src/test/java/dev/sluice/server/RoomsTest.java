package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testing.Rooms;
import org.junit.jupiter.api.Test;

/** Who may know whom among the packages of the service. */
class RoomsTest {
  private static final String TLS = "dev.sluice.server.tls..";
  private static final String HTTP = "dev.sluice.server.http..";
  private static final String API = "dev.sluice.server.api..";
  private static final String ADMIN = "dev.sluice.server.admin..";
  private static final String HEALTH = "dev.sluice.server.health..";
  private static final String COMMANDS = "dev.sluice.server.commands..";

  private final Rooms rooms = Rooms.of("dev.sluice.server");

  @Test
  void packagesHaveNoCycles() {
    rooms.haveNoCycles();
  }

  @Test
  void requestsAndAnswersKnowNoRoute() {
    rooms.knowNone(HTTP, API, ADMIN, HEALTH, COMMANDS);
  }

  @Test
  void tlsKnowsNoOtherRoom() {
    rooms.knowNone(TLS, "dev.sluice.server", HTTP, API, ADMIN, HEALTH, COMMANDS);
  }

  @Test
  void decisionsKnowNoOperators() {
    rooms.knowNone(API, ADMIN, HEALTH, COMMANDS);
  }

  @Test
  void nothingKnowsTheCommands() {
    rooms.knowNone("dev.sluice.server", COMMANDS);
    rooms.knowNone(ADMIN, COMMANDS);
    rooms.knowNone(HEALTH, COMMANDS);
  }

  @Test
  void theServiceKnowsNoClientOfRedisAndNoFramework() {
    rooms.knowNone("dev.sluice.server..", "io.lettuce..", "org.springframework..");
  }

  @Test
  void packagesAreNullMarkedAndNotCrowded() {
    assertThat(rooms.notNullMarked()).isEmpty();
    assertThat(rooms.crowded()).isEmpty();
  }
}
