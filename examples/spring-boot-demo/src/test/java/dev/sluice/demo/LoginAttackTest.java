package dev.sluice.demo;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limiter;
import dev.sluice.Restriction;
import dev.sluice.spring.testing.SluiceTesting;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.security.core.userdetails.User;
import org.springframework.security.crypto.factory.PasswordEncoderFactories;
import org.springframework.security.crypto.password.PasswordEncoder;
import org.springframework.security.provisioning.InMemoryUserDetailsManager;

/**
 * Attacks on the login of the shop, over HTTP, and what became of them; prints the table of the
 * guide. Addresses are sent in X-Forwarded-For, which the shop believes for this test.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class LoginAttackTest {
  private static final String HOME = "198.51.100.7";
  private static final int PEOPLE = 50;

  private RunningShop shop;
  private SluiceTesting sluice;

  /** Counts how many passwords were looked at. No component: other tests would find it. */
  @Import(SluiceTesting.class)
  static class Counting {
    static final AtomicInteger CHECKS = new AtomicInteger();

    @Bean
    PasswordEncoder countingEncoder() {
      PasswordEncoder encoder = PasswordEncoderFactories.createDelegatingPasswordEncoder();
      return new PasswordEncoder() {
        @Override
        public String encode(CharSequence password) {
          return "{noop}" + password;
        }

        @Override
        public boolean matches(CharSequence password, String encoded) {
          CHECKS.incrementAndGet();
          return encoder.matches(password, encoded);
        }
      };
    }
  }

  /** One try to sign in. */
  private record Login(String name, String password, String address) {}

  /** What became of many tries. */
  private record Outcome(int tries, int checked, int in, int refused) {}

  @BeforeAll
  void open() {
    shop = new RunningShop("memory", List.of("--sluice.trusted-proxies=127.0.0.1"), Counting.class);
    sluice = shop.bean(SluiceTesting.class);
    InMemoryUserDetailsManager customers = shop.bean(InMemoryUserDetailsManager.class);
    for (int i = 0; i < 200; i++) {
      customers.createUser(
          User.withUsername("customer" + i).password("{noop}right" + i).roles("CUSTOMER").build());
    }
  }

  @AfterAll
  void close() {
    shop.close();
  }

  @Test
  void tableOfTheGuideIsWhatHappens() throws IOException {
    List<String> table = new ArrayList<>();
    table.add(
        "| who | tries | passwords checked | refused | signed in | locked afterwards | then ann at home |");
    table.add("|---|---|---|---|---|---|---|");
    table.add(
        row(
            "200 guesses at ann's password from one address",
            each(200, i -> new Login("ann", "guess" + i, "203.0.113.1"))));
    table.add(
        row(
            "one guess at each of 200 accounts from one address",
            each(200, i -> new Login("customer" + i, "123456", "203.0.113.1"))));
    table.add(
        row(
            "one guess at ann's password from each of 200 addresses",
            each(200, i -> new Login("ann", "guess" + i, "203.0.113." + i))));
    table.add(
        row(
            "five guesses at ann's password from each of 200 addresses",
            each(1_000, i -> new Login("ann", "guess" + i, "203.0.113." + i / 5))));
    table.add(
        row(
            "50 people at home, each mistypes twice",
            each(3 * PEOPLE, i -> honest(i, "192.0.2." + i / 3))));
    table.add(
        row(
            "50 people in one office, each mistypes twice within the same ten minutes",
            each(3 * PEOPLE, i -> honest(i, "192.0.2.1"))));

    String printed = String.join("\n", table) + "\n";
    System.out.println(printed);
    assertThat(Files.readString(Path.of("../../docs/guides/protecting-a-login.md")))
        .as("the table of the guide")
        .contains(printed);
  }

  private static Login honest(int i, String address) {
    int person = i / 3;
    return new Login("customer" + person, i % 3 == 2 ? "right" + person : "rihgt", address);
  }

  private static List<Login> each(int times, IntFunction<Login> login) {
    List<Login> all = new ArrayList<>();
    for (int i = 0; i < times; i++) {
      all.add(login.apply(i));
    }
    return all;
  }

  private String row(String who, List<Login> logins) {
    sluice.reset();
    Outcome outcome = send(logins);
    String locked = locked();
    Outcome home = send(List.of(new Login("ann", "river", HOME)));
    return "| %s | %,d | %,d | %,d | %,d | %s | %s |"
        .formatted(
            who,
            outcome.tries,
            outcome.checked,
            outcome.refused,
            outcome.in,
            locked,
            home.in == 1 ? "signs in" : "is refused");
  }

  private Outcome send(List<Login> logins) {
    int before = Counting.CHECKS.get();
    int in = 0;
    int refused = 0;
    for (Login login : logins) {
      HttpResponse<String> answer =
          shop.post(
              "/sign-in",
              "username=%s&password=%s".formatted(login.name, login.password),
              "X-Forwarded-For",
              login.address);
      if (answer.statusCode() == 429) {
        refused++;
      } else {
        String place = answer.headers().firstValue("Location").orElseThrow();
        assertThat(place).matches(".*/(member|sign-in\\?error)");
        in += place.endsWith("/member") ? 1 : 0;
      }
    }
    return new Outcome(logins.size(), Counting.CHECKS.get() - before, in, refused);
  }

  /** Who is locked, by what it is counted by, and for how long. */
  private String locked() {
    List<Restriction> locks = shop.bean(Limiter.class).locks(null, 1_000, null).locks();
    Map<String, Integer> counted = new TreeMap<>();
    for (Restriction lock : locks) {
      String facets = String.join("+", lock.account().identity().facets().keySet());
      String what =
          Map.of("ip+login", "ann at that address", "ip", "the address", "login", "ann everywhere")
              .get(facets);
      counted.merge(what, 1, Integer::sum);
    }
    return counted.isEmpty()
        ? "nobody"
        : counted.entrySet().stream()
            .map(each -> each.getKey() + (each.getValue() == 1 ? "" : " × " + each.getValue()))
            .collect(Collectors.joining(", "));
  }
}
