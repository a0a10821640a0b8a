package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testing.Rooms;
import org.junit.jupiter.api.Test;

/** Who may know whom among the packages of core. */
class RoomsTest {
  private static final String API = "dev.sluice";

  /** What a store implements: users and stores share the types of the API, so both are one room. */
  private static final String STORE = "dev.sluice.store";

  private static final String MEMORY = "dev.sluice.memory..";
  private static final String RULES = "dev.sluice.rules..";
  private static final String HTTP = "dev.sluice.http..";
  private static final String OUTAGE = "dev.sluice.outage..";

  private final Rooms rooms = Rooms.of(API);

  @Test
  void packagesHaveNoCycles() {
    rooms.haveNoCycles(name -> name.equals(STORE) ? API : name);
  }

  @Test
  void theApiKnowsNoOtherRoom() {
    rooms.knowNone(API, MEMORY, RULES, HTTP, OUTAGE);
    rooms.knowNone(STORE, MEMORY, RULES, HTTP, OUTAGE);
  }

  @Test
  void roomsDoNotKnowOneAnother() {
    rooms.knowNone(MEMORY, RULES, HTTP, OUTAGE);
    rooms.knowNone(RULES, MEMORY, HTTP, OUTAGE);
    rooms.knowNone(HTTP, MEMORY, RULES, OUTAGE);
    rooms.knowNone(OUTAGE, RULES, HTTP);
  }

  @Test
  void coreKnowsNoServerClientOrFramework() {
    rooms.knowNone(
        "dev.sluice..",
        "com.sun.net.httpserver..",
        "io.lettuce..",
        "io.netty..",
        "jakarta.servlet..",
        "java.net.http..",
        "javax.servlet..",
        "org.springframework..");
  }

  @Test
  void onlyTheOutageRoomNeedsCaffeine() {
    for (String room : new String[] {API, STORE, MEMORY, RULES, HTTP}) {
      rooms.knowNone(room, "com.github.benmanes.caffeine..");
    }
  }

  @Test
  void theApiShowsNothingInternal() {
    for (String room : new String[] {API, STORE, "dev.sluice.memory", "dev.sluice.http"}) {
      assertThat(rooms.showing(room, "dev.sluice.internal.", "dev.sluice.outage.")).isEmpty();
    }
  }

  @Test
  void packagesAreNullMarkedAndNotCrowded() {
    assertThat(rooms.notNullMarked()).isEmpty();
    assertThat(rooms.crowded()).as("what users type stays in one package").containsOnlyKeys(API);
  }
}
