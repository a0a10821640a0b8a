package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.contract.MovableClock;
import dev.sluice.http.ClientAddress;
import dev.sluice.server.admin.AdminToken;
import dev.sluice.server.http.Settings;
import java.net.http.HttpRequest;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Who guesses the admin token. */
class AdminTokenTest {
  private final MovableClock clock = MovableClock.at(Instant.parse("2026-01-01T00:00:00Z"));
  private Sluice sluice;

  @BeforeEach
  void start() {
    ClientAddress behindProxy =
        ClientAddress.trusting(List.of("127.0.0.1"), ClientAddress.Trail.X_FORWARDED_FOR, 128);
    sluice = Sluice.start(Settings.builder().client(behindProxy).clock(clock).build());
  }

  @AfterEach
  void stop() {
    sluice.close();
  }

  private HttpRequest.Builder request(String address, String token) {
    return sluice
        .request("GET", "/v1/rules")
        .header("X-Forwarded-For", address)
        .header("Authorization", "Bearer " + token);
  }

  private int status(String address, String token) {
    return sluice.send(request(address, token)).status();
  }

  @Test
  void afterTenWrongTokensEveryTokenOfThatAddressIs429ForAMinute() {
    for (int i = 0; i < 10; i++) {
      assertThat(status("192.0.2.1", "wrong-token-" + i)).isEqualTo(401);
    }

    Sluice.Answer wrong = sluice.send(request("192.0.2.1", "wrong-token-10"));
    Sluice.Answer right = sluice.send(request("192.0.2.1", Sluice.TOKEN));

    assertThat(wrong.status()).isEqualTo(429);
    assertThat(right.status()).isEqualTo(429);
    assertThat(right.response().body()).isEqualTo(wrong.response().body());
    assertThat(right.header("Retry-After")).isEqualTo("60");
    assertThat(right.errors().get(0)).contains("10 wrong ones", "within a minute");
    assertThat(status("192.0.2.2", Sluice.TOKEN)).isEqualTo(200);
    clock.advance(Duration.ofSeconds(60));
    assertThat(status("192.0.2.1", Sluice.TOKEN)).isEqualTo(200);
  }

  @Test
  void aWrongTokenAndNoTokenDiffer() {
    assertThat(sluice.get("/v1/rules").errors())
        .containsExactly(
            "this route needs the admin token (expected: Authorization: Bearer and the token)");
    assertThat(sluice.send(request("192.0.2.1", Sluice.TOKEN + "x")).errors())
        .containsExactly(
            "admin token: not the one of this service (expected: Authorization: Bearer and the token)");
  }

  @Test
  void rightTokensAndRequestsWithoutOneAreNotCounted() {
    for (int i = 0; i < 30; i++) {
      assertThat(status("192.0.2.1", Sluice.TOKEN)).isEqualTo(200);
      assertThat(sluice.get("/v1/rules").status()).isEqualTo(401);
    }
    for (int i = 0; i < 9; i++) {
      status("192.0.2.1", "wrong");
    }

    assertThat(status("192.0.2.1", Sluice.TOKEN)).isEqualTo(200);
  }

  @Test
  void addressesOfOneIpv6NetworkAreOneGuesser() {
    for (int i = 0; i < 10; i++) {
      assertThat(status("2001:db8:0:1::" + i, "wrong")).isEqualTo(401);
    }

    assertThat(status("2001:db8:0:1:ffff::1", "wrong")).isEqualTo(429);
    assertThat(status("2001:db8:0:2::1", "wrong")).isEqualTo(401);
  }

  @Test
  void guessesAtOnceAreNoMoreThanTen() {
    List<CompletableFuture<Integer>> guesses = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      guesses.add(
          sluice.sendAsync(request("192.0.2.1", "guess-" + i)).thenApply(Sluice.Answer::status));
    }

    List<Integer> statuses = guesses.stream().map(CompletableFuture::join).toList();

    assertThat(statuses).containsOnly(401, 429);
    assertThat(statuses.stream().filter(status -> status == 401)).hasSize(10);
  }

  @Test
  void aTokenHasAtLeastSixteenVisibleCharacters() {
    assertThat(AdminToken.of("a".repeat(16)).text()).hasSize(16);
    assertThatThrownBy(() -> AdminToken.of("a".repeat(15)))
        .hasMessage("admin token: 15 characters (expected: at least 16 visible ASCII characters)");
    assertThatThrownBy(() -> AdminToken.of("a".repeat(16) + " "))
        .hasMessageContaining("some not visible ASCII");
    assertThat(AdminToken.random().text().length()).isGreaterThan(16);
  }

  /**
   * Both have the same token: if it made the key, a receipt would tell whether a guess is right.
   */
  @Test
  void receiptsAreNotSealedWithTheAdminToken() {
    String call = "{\"rule\":\"SecureLogin\",\"identity\":{\"login\":\"ann\"},\"receipt\":true}";
    String receipt = sluice.post("/v1/check", call).json().path("receipt").asText();

    try (Sluice other = Sluice.start()) {
      Sluice.Answer answer =
          other.post("/v1/settle", "{\"receipt\":\"" + receipt + "\",\"cost\":0}");

      assertThat(answer.status()).isEqualTo(400);
      assertThat(answer.errors().get(0)).startsWith("receipt: not sealed with a key of this");
    }
  }
}
