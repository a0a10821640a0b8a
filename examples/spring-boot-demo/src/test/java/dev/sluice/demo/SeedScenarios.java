package dev.sluice.demo;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.http.HttpResponse;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** The six scenarios of the seeds, over HTTP. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class SeedScenarios {
  private RunningShop shop;

  abstract RunningShop open();

  @BeforeAll
  void begin() {
    shop = open();
  }

  @AfterAll
  void end() {
    shop.close();
  }

  @Test
  void scenario1BankAccountTwiceInTwoMinutesByMemberAndByAddress() {
    assertThat(shop.statuses(3, "POST", "/bank-account", "X-Member-Code", "ann"))
        .containsExactly(200, 200, 429);
    // Another member at the same address is refused by the account of the address.
    HttpResponse<String> other = shop.send("POST", "/bank-account", "X-Member-Code", "bob");
    assertThat(other.statusCode()).isEqualTo(429);
    assertThat(Integer.parseInt(other.headers().firstValue("Retry-After").orElseThrow()))
        .isBetween(1, 120);
  }

  @Test
  void scenario2ThreeWrongCodesLockForHalfAnHour() {
    assertThat(shop.statuses(4, "POST", "/code?login=ann&code=" + ShopController.CODE))
        .containsOnly(200);
    assertThat(shop.statuses(3, "POST", "/code?login=ann&code=1")).containsOnly(401);

    long asked = System.currentTimeMillis();
    HttpResponse<String> right = shop.send("POST", "/code?login=ann&code=" + ShopController.CODE);

    assertThat(right.statusCode()).isEqualTo(429);
    assertThat(restrictedUntil(right) - asked)
        .isBetween(TimeUnit.MINUTES.toMillis(29), TimeUnit.MINUTES.toMillis(31));
    assertThat(shop.send("POST", "/code?login=bob&code=" + ShopController.CODE).statusCode())
        .isEqualTo(200);
  }

  @Test
  void scenario3ResendsFollowTheBackOffice() {
    assertThat(shop.statuses(3, "POST", "/code/resend?account=1")).containsExactly(200, 200, 429);

    shop.send("PUT", "/office/resends?attempts=4");
    // The back office is asked five times a second: no clock of ours can be moved.
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
    while (!shop.send("GET", "/actuator/sluice/rules").body().contains("4 per 10m")) {
      assertThat(System.nanoTime()).isLessThan(end);
    }

    assertThat(shop.statuses(5, "POST", "/code/resend?account=2"))
        .containsExactly(200, 200, 200, 200, 429);
  }

  @Test
  void scenario4LoginThatMustResetIsLockedForADay() {
    assertThat(shop.statuses(2, "POST", "/login?login=cleo")).containsOnly(403);

    long asked = System.currentTimeMillis();
    HttpResponse<String> refused = shop.send("POST", "/login?login=cleo");

    assertThat(refused.statusCode()).isEqualTo(429);
    assertThat(refused.body()).contains("abnormal-usage-detected");
    assertThat(restrictedUntil(refused) - asked)
        .isBetween(TimeUnit.HOURS.toMillis(24) - 60_000, TimeUnit.HOURS.toMillis(24) + 60_000);
  }

  @Test
  void scenario5PromotionTenTimesAMinuteByMemberAndPromotion() {
    assertThat(shop.statuses(10, "GET", "/promotions?promo=spring", "X-Member-Code", "dan"))
        .containsOnly(200);
    assertThat(shop.statuses(1, "GET", "/promotions?promo=spring", "X-Member-Code", "dan"))
        .containsExactly(429);
    assertThat(shop.statuses(1, "GET", "/promotions?promo=autumn", "X-Member-Code", "dan"))
        .containsExactly(200);
    assertThat(shop.statuses(1, "GET", "/promotions?promo=spring", "X-Member-Code", "eve"))
        .containsExactly(200);
  }

  @Test
  void scenario6AnnotationOnAMethod() {
    assertThat(shop.statuses(6, "POST", "/mini-game?memberCode=fay"))
        .containsExactly(200, 200, 200, 200, 200, 429);
    assertThat(shop.statuses(1, "POST", "/mini-game?memberCode=gil")).containsExactly(200);
  }

  static long restrictedUntil(HttpResponse<String> answer) {
    Matcher found = Pattern.compile("\"restrictedUntil\":([0-9]+)").matcher(answer.body());
    assertThat(found.find()).as(answer.body()).isTrue();
    return Long.parseLong(found.group(1));
  }
}
