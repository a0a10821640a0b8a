package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.http.Settings;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What a command prints can be pasted into the others, through a shell. */
class PastedIdentitiesTest {
  private static final String RULES =
      """
      facets:
        login: {query: login}
        apiKey: {header: X-Api-Key, secret: true}
        ip: client-address
      rules:
        Login: {by: [login+ip], limit: 3 per 30m, lock: 30m}
        Name:  {by: [login], limit: 3 per 30m, lock: 30m}
        Key:   {by: [apiKey], limit: 3 per 30m, lock: 30m}
        Paid:
          by: [apiKey]
          limit: 3 per 30m
          overrides: [{when: {apiKey: key-of-acme}, limit: 500 per 30m}]
        Both:  {by: [apiKey+ip], limit: 3 per 30m, lock: 30m}
      """;

  private static Sluice sluice;

  @BeforeAll
  static void start() {
    sluice = Sluice.start(Settings.defaults(), RULES);
  }

  @AfterAll
  static void stop() {
    sluice.close();
  }

  /** A rule and an identity as somebody types it. */
  static Stream<List<String>> typed() {
    return Stream.of(
        List.of("Login", "login=ann", "ip=2001:db8:0:0::7"),
        List.of("Login", "login=bob&co", "ip=192.0.2.1"),
        List.of("Name", "login=ann@example.org"),
        List.of("Name", "login=ann lee"),
        List.of("Name", "login=100%"),
        List.of("Name", "login=a%2540b"),
        List.of("Name", "login=it's"),
        List.of("Name", "login=Ænn 日本"),
        List.of("Name", "login=" + "x".repeat(500)),
        List.of("Key", "apiKey=hush-hush"),
        List.of("Both", "apiKey=hush-hush", "ip=192.0.2.1"));
  }

  private static CommandsTest.Ended run(String... arguments) {
    return CommandsTest.run(
        Stream.concat(
                Arrays.stream(arguments), Stream.of("--url", sluice.url(), "--token", Sluice.TOKEN))
            .toArray(String[]::new));
  }

  private static CommandsTest.Ended run(List<String> words, String... more) {
    return run(Stream.concat(words.stream(), Arrays.stream(more)).toArray(String[]::new));
  }

  @ParameterizedTest
  @MethodSource("typed")
  void listedIdentitiesAreTakenByTheOtherCommands(List<String> typed, @TempDir Path directory)
      throws Exception {
    String rule = typed.get(0);
    List<String> set = new ArrayList<>(List.of("locks", "set"));
    set.addAll(typed);
    assertThat(run(set, "--for", "1h").status()).isZero();

    List<String> pasted = pasted(rule, directory);

    assertThat(run(List.of("accounts", "show", rule), pasted.toArray(String[]::new)).out())
        .doesNotContain(" -\n");
    CommandsTest.Ended lifted = run(List.of("locks", "lift", rule), pasted.toArray(String[]::new));
    assertThat(lifted.status()).describedAs(lifted.toString()).isZero();
    assertThat(run("locks", "list", "--rule", rule).out()).isEqualTo("nobody is locked\n");

    String[] setPasted =
        Stream.concat(pasted.stream(), Stream.of("--for", "1h")).toArray(String[]::new);
    assertThat(run(List.of("locks", "set", rule), setPasted).status()).isZero();
    assertThat(pasted(rule, directory)).isEqualTo(pasted);
    List<String> reset = new ArrayList<>(List.of("accounts", "reset"));
    reset.addAll(typed);
    assertThat(run(reset).status()).isZero();
    assertThat(run("locks", "list", "--rule", rule).out()).isEqualTo("nobody is locked\n");
  }

  /** The column IDENTITY of the one lock of a rule, as the arguments that a shell makes of it. */
  private static List<String> pasted(String rule, Path directory) throws Exception {
    String line = run("locks", "list", "--rule", rule).out().lines().skip(1).findFirst().get();
    String column = line.split(" +", 3)[1];
    return Program.run(directory, List.of("bash", "-c", "printf '%s\\n' " + column))
        .lines()
        .toList();
  }

  @Test
  void whatIsNotLockedIsNamed() {
    assertThat(run("locks", "lift", "Name", "login=50%25").out())
        .isEqualTo(
            "was not locked; the next call passes: login=50%25 has 3 of 3 left (3 per 30m)\n");
  }

  @Test
  void aCallNeedsTheValueAndNotItsHash() {
    run("locks", "set", "Key", "apiKey=quiet", "--for", "1h");
    String hash = run("locks", "list", "--rule", "Key").out().lines().skip(1).findFirst().get();

    CommandsTest.Ended checked = run("check", "Key", hash.split(" +", 3)[1]);

    assertThat(checked.err())
        .isEqualTo(
            "sluice: facet 'apiKey': a hash (expected: the value itself; accounts show takes the hash)\n");
    run("locks", "lift", "Key", "apiKey=quiet");
  }

  @Test
  void aHashHasTheTermsOfItsOverride() {
    run("locks", "set", "Paid", "apiKey=key-of-acme", "--for", "1h");
    String hash = run("locks", "list", "--rule", "Paid").out().lines().skip(1).findFirst().get();

    assertThat(run("locks", "lift", "Paid", hash.split(" +", 3)[1]).out())
        .endsWith(" has 500 of 500 left (500 per 30m)\n");
    assertThat(run("accounts", "show", "Paid", "apiKey=key-of-other").out())
        .contains(" 3 per 30m ");
  }

  @Test
  void aFacetGivenTwiceIsRefused() {
    assertThat(run("locks", "lift", "Name", "login=a", "login=b").err())
        .isEqualTo("sluice: facet 'login': given twice\n");
  }
}
