package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.sluice.Account;
import dev.sluice.Identity;
import dev.sluice.memory.MemoryStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** More locks than fit on a page. */
class LockPagesTest {
  private static final int LOCKS = 2_345;

  private static Sluice sluice;

  @BeforeAll
  static void start() {
    MemoryStore store = MemoryStore.create();
    for (int i = 0; i < LOCKS; i++) {
      Account account = new Account("SecureLogin", Identity.of("login", "user%05d".formatted(i)));
      var unused = store.lock(account, Duration.ofHours(1).plusSeconds(i), "number " + i);
    }
    var unused =
        store.lock(new Account("Api", Identity.of("apiKey", "x")), Duration.ofDays(1), "other");
    sluice = Sluice.start(store);
  }

  @AfterAll
  static void stop() {
    sluice.close();
  }

  private static JsonNode page(String query) {
    return sluice.send(sluice.admin("GET", "/v1/locks" + query)).json();
  }

  @Test
  void aPageHasAHundredLocksATotalAndWhatComesNext() {
    JsonNode first = page("");

    assertThat(first.path("locks")).hasSize(100);
    assertThat(first.path("total").asInt()).isEqualTo(LOCKS + 1);
    assertThat(first.path("locks").get(0).path("account").asText()).isEqualTo("login=user00000");
    JsonNode second = page("?after=" + first.path("next").asText());
    assertThat(second.path("locks").get(0).path("account").asText()).isEqualTo("login=user00100");
  }

  @Test
  void allPagesTogetherHaveEveryLockOnce() {
    List<String> accounts = new ArrayList<>();
    String after = "";
    while (after != null) {
      JsonNode page = page("?rule=SecureLogin&limit=1000" + after);
      page.path("locks").forEach(lock -> accounts.add(lock.path("account").asText()));
      assertThat(page.path("total").asInt()).isEqualTo(LOCKS);
      after = page.path("next").isNull() ? null : "&after=" + page.path("next").asText();
    }

    assertThat(accounts).hasSize(LOCKS).doesNotHaveDuplicates();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "limit=0 | limit: 0 (expected: 1 to 1000)",
        "limit=1001 | limit: 1001 (expected: 1 to 1000)",
        "limit=-1 | limit: '-1' (expected: 1 to 1000)",
        "limit=many | limit: 'many' (expected: 1 to 1000)",
        "limit=99999999999 | limit: '99999999999' (expected: 1 to 1000)",
        "after=!!! | after: '!!!' (expected: the `next` of a page of locks)",
        "after= | after: '' (expected: the `next` of a page of locks)",
      })
  void aBadPageIsRefused(String query, String error) {
    Sluice.Answer answer = sluice.send(sluice.admin("GET", "/v1/locks?" + query));

    assertThat(answer.status()).isEqualTo(400);
    assertThat(answer.errors()).containsExactly(error);
  }

  @Test
  void theCommandShowsAThousandAndHowToGoOn() {
    CommandsTest.Ended first = list();

    List<String> lines = first.out().lines().toList();
    assertThat(lines).hasSize(1 + 1_000 + 1);
    String last = lines.get(lines.size() - 1);
    assertThat(last).startsWith("1,000 of 2,346 locks; for more: --all, or --after ");
    String after = last.substring(last.lastIndexOf(' ') + 1);
    CommandsTest.Ended second = list("--after", after, "--limit", "1500");
    assertThat(second.out()).contains("login=user01000 ").doesNotContain("user00999 ");
    assertThat(second.out().lines()).hasSize(1 + 1_346);
  }

  @Test
  void theCommandListsAllAndSaysHowFarItIs() {
    CommandsTest.Ended all = list("--all");
    CommandsTest.Ended ten = list("--limit", "10");
    CommandsTest.Ended json = list("--all", "--json", "--rule", "SecureLogin");

    assertThat(all.out().lines()).hasSize(1 + LOCKS + 1);
    assertThat(all.out().lines().filter(line -> line.startsWith("RULE "))).hasSize(1);
    assertThat(all.err()).isEqualTo("1,000 of 2,346\n2,000 of 2,346\n");
    assertThat(ten.out().lines()).hasSize(1 + 10 + 1);
    assertThat(json.out().lines().filter(line -> line.contains("\"account\""))).hasSize(LOCKS);
    assertThat(json.out()).contains("\"total\" : " + LOCKS, "\"next\" : null");
    assertThat(list("--limit", "0").err()).contains("limit: 0 (expected: at least 1)");
  }

  private static CommandsTest.Ended list(String... options) {
    List<String> words = new ArrayList<>(List.of("locks", "list"));
    words.addAll(List.of(options));
    words.addAll(List.of("--url", sluice.url(), "--token", Sluice.TOKEN));
    return CommandsTest.run(words.toArray(String[]::new));
  }

  @Test
  void theGaugeCountsEveryLock() {
    assertThat(sluice.get("/metrics").response().body()).contains("sluice_locks 2346.0");
  }
}
