package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.rules.Until;
import dev.sluice.server.api.ReceiptKeys;
import dev.sluice.server.health.Meters;
import dev.sluice.store.Store;
import dev.sluice.testing.Needs;
import java.net.http.HttpRequest;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Two services on one Redis are one. */
class SharedIT {
  private static final Pattern REFUSED = Pattern.compile("Non-2xx responses:\\s+(\\d+)");

  @TempDir private Path directory;

  @Test
  @Needs("ab")
  void aThousandPassInSum() throws Exception {
    try (RedisProcess redis = RedisProcess.start(RedisProcess.newest());
        Sluice one = Sluice.start(open(redis));
        Sluice two = Sluice.start(open(redis));
        Program first = Program.start(directory, ab(one));
        Program second = Program.start(directory, ab(two))) {
      first.await(120);
      second.await(120);

      assertThat(first.printed()).contains("Complete requests:      600\n");
      assertThat(second.printed()).contains("Complete requests:      600\n");
      assertThat(refused(first) + refused(second)).isEqualTo(200);
    }
  }

  /** With a deadline that a busy machine keeps, for past it the rule lets everybody pass. */
  private static Store open(RedisProcess redis) {
    return Stores.open(redis.uri(), Duration.ofSeconds(20), 2, true, false, true, fault -> {});
  }

  private static List<String> ab(Sluice sluice) {
    return List.of("ab", "-q", "-n", "600", "-c", "25", sluice.url() + "/v1/gate/Everyone");
  }

  private static int refused(Program ab) throws Exception {
    Matcher found = REFUSED.matcher(ab.printed());
    return found.find() ? Integer.parseInt(found.group(1)) : 0;
  }

  private static Sluice service(RedisProcess redis) {
    return Sluice.start(
        Sluice.patient(10_000),
        Sluice.sample(),
        open(redis),
        new Meters(),
        ReceiptKeys.ofRedis(redis.uri()));
  }

  @Test
  void aReceiptOfOneIsHonouredByTheOther() throws Exception {
    try (RedisProcess redis = RedisProcess.start(RedisProcess.newest());
        Sluice one = service(redis);
        Sluice two = service(redis)) {
      String receipt = one.post("/v1/check", call("ann")).json().path("receipt").asText();

      assertThat(settle(two, receipt).json().path("settled").asBoolean()).isTrue();
      assertThat(two.post("/v1/check", call("ann")).json().path("allowed").asBoolean()).isTrue();
    }
  }

  @Test
  void valuesOfSomebodyElseAreAMetricAndLocksHaveTheirReasons() throws Exception {
    try (RedisProcess redis = RedisProcess.start(RedisProcess.newest());
        Sluice sluice = service(redis)) {
      sluice.post("/v1/check", call("ann"));
      Matcher key =
          Pattern.compile("s2:\\{\\w+\\}:SecureLogin:login=ann(?=\\s|$|,|\\])")
              .matcher(redis.command("KEYS", "s2:*SecureLogin*"));
      assertThat(key.find()).isTrue();
      redis.command("SET", key.group(), "not ours");
      sluice.post("/v1/check", call("ann"));
      sluice.send(
          sluice
              .admin("PUT", "/v1/locks/SecureLogin?login=bob")
              .PUT(
                  HttpRequest.BodyPublishers.ofString(
                      "{\"duration\":\"1h\",\"reason\":\"ticket 4711\"}")));

      assertThat(sluice.get("/metrics").response().body())
          .contains("sluice_store_foreign_values_total 1.0");
      assertThat(
              sluice
                  .send(sluice.admin("GET", "/v1/accounts/SecureLogin?login=bob"))
                  .json()
                  .path("locks")
                  .get(0)
                  .path("reason")
                  .asText())
          .isEqualTo("ticket 4711");
    }
  }

  private static String call(String login) {
    return "{\"rule\":\"SecureLogin\",\"identity\":{\"login\":\"%s\"},\"cost\":2,\"receipt\":true}"
        .formatted(login);
  }

  private static Sluice.Answer settle(Sluice sluice, String receipt) {
    return sluice.post("/v1/settle", "{\"receipt\":\"" + receipt + "\",\"cost\":0}");
  }

  @Test
  void anOverrideOfOneIsInForceOnTheOtherWithinASecond() throws Exception {
    try (RedisProcess redis = RedisProcess.start(RedisProcess.newest());
        Sluice one = service(redis);
        Sluice two = service(redis)) {
      String body =
          "{\"rule\":\"SecureLogin\",\"when\":{\"login\":\"dan\"},\"limit\":\"7 per 1h\"}";

      Sluice.Answer made =
          one.send(
              one.admin("PUT", "/v1/overrides/dan")
                  .method("PUT", HttpRequest.BodyPublishers.ofString(body)));
      Until.within(Duration.ofSeconds(1), "made", () -> limits(two, "dan").contains("7 per 1h"));
      one.send(one.admin("DELETE", "/v1/overrides/dan"));
      Until.within(Duration.ofSeconds(1), "gone", () -> !limits(two, "dan").contains("7 per 1h"));

      assertThat(made.status()).as(made.response().body()).isEqualTo(200);
    }
  }

  private static String limits(Sluice sluice, String login) {
    return sluice
        .send(sluice.admin("GET", "/v1/accounts/SecureLogin?login=" + login))
        .response()
        .body();
  }

  @Test
  void receiptsStayGoodWhileTheirKeyIsRotated() throws Exception {
    try (RedisProcess redis = RedisProcess.start(RedisProcess.newest());
        Sluice one = service(redis);
        Sluice two = service(redis)) {
      String before = one.post("/v1/check", call("bea")).json().path("receipt").asText();

      Sluice.Answer rotated = one.send(one.admin("POST", "/v1/receipts/rotate"));
      String after = one.post("/v1/check", call("cid")).json().path("receipt").asText();

      assertThat(rotated.json().path("rotated").asBoolean()).isTrue();
      assertThat(settle(two, after).json().path("settled").asBoolean()).isTrue();
      assertThat(settle(two, before).json().path("settled").asBoolean()).isTrue();
    }
  }
}
