package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.admin.AdminToken;
import dev.sluice.server.commands.Main;
import dev.sluice.server.http.Settings;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

/** The commands, against a service that runs in this JVM. */
class CommandsTest {
  private static Sluice sluice;

  @BeforeAll
  static void start() {
    sluice = Sluice.start();
  }

  @AfterAll
  static void stop() {
    sluice.close();
  }

  record Ended(int status, String out, String err) {}

  static Ended run(String... arguments) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    CommandLine line = Main.commandLine().setOut(new PrintWriter(out)).setErr(new PrintWriter(err));
    int status = line.execute(arguments);
    return new Ended(status, out.toString(), err.toString());
  }

  private static Ended remote(String... arguments) {
    return run(
        Stream.concat(
                Arrays.stream(arguments), Stream.of("--url", sluice.url(), "--token", Sluice.TOKEN))
            .toArray(String[]::new));
  }

  @Test
  void healthIsReadyOrAnError() {
    Ended ready = remote("health");
    Ended away = run("health", "--url", "http://127.0.0.1:1");

    assertThat(ready).isEqualTo(new Ended(0, "ready\n", ""));
    assertThat(away.status()).isEqualTo(1);
    assertThat(away.err()).startsWith("sluice: no service at http://127.0.0.1:1 (");
  }

  @Test
  void aCheckIsATableAndAStatus() {
    Ended allowed = remote("check", "SecureLogin", "login=amy");
    remote("check", "SecureLogin", "login=amy");
    Ended denied = remote("check", "SecureLogin", "login=amy");

    assertThat(allowed.status()).isZero();
    assertThat(allowed.out())
        .isEqualTo(
            """
            allowed
            RULE         IDENTITY   LIMIT     LEFT  WAIT  BACK IN  LOCKED UNTIL
            SecureLogin  login=amy  2 per 1d  1     -     1d       -
            """);
    assertThat(denied.status()).isEqualTo(3);
    assertThat(denied.out())
        .containsPattern("^denied: (locked out, )?passes in (1d|23h59m5\\ds)\n");
  }

  @Test
  void aCheckHasACostForEachRule() {
    Ended allowed =
        remote(
            "check",
            "SecureForgotAccount,Api",
            "login=ada",
            "apiKey=ada",
            "--cost",
            "2",
            "--cost",
            "Api=40");
    Ended wrong = remote("check", "Api", "apiKey=ada", "--cost", "Api=many");

    assertThat(allowed.status()).isZero();
    assertThat(allowed.out())
        .containsPattern("SecureForgotAccount .*3 per 30m +1 ")
        .containsPattern("Api .*100 at once, 10 more every 1s +60 ");
    assertThat(wrong.err())
        .isEqualTo(
            "sluice: cost: 'Api=many' (expected: a whole number, or one by rule such as"
                + " tokens=1200)\n");
  }

  @Test
  void locksAreSetListedAndLifted() {
    Ended set =
        remote("locks", "set", "SecureLogin", "login=bea", "--for", "30m", "--reason", "too loud");
    Ended list = remote("locks", "list", "--rule", "SecureLogin");
    Ended json = remote("locks", "list", "--json");
    Ended lifted = remote("locks", "lift", "SecureLogin", "login=bea");
    Ended again = remote("locks", "lift", "SecureLogin", "login=bea");

    assertThat(set.status()).isZero();
    assertThat(list.out()).containsPattern("SecureLogin +login=bea +\\S+Z +too loud\n");
    assertThat(json.out()).contains("\"account\" : \"login=bea\"");
    assertThat(lifted)
        .isEqualTo(
            new Ended(
                0, "lifted; the next call passes: login=bea has 2 of 2 left (2 per 1d)\n", ""));
    assertThat(again)
        .isEqualTo(
            new Ended(
                3,
                "was not locked; the next call passes: login=bea has 2 of 2 left (2 per 1d)\n",
                ""));
  }

  @Test
  void aLockByHandIsShownWithItsReasonAndNotAsAUsedUpLimit() {
    remote("locks", "set", "SecureLogin", "login=dan", "--for", "30m", "--reason", "ticket 4711");
    remote("locks", "set", "SecureLogin", "login=dan2", "--for", "31m", "--reason", "another");

    assertThat(remote("accounts", "show", "SecureLogin", "login=dan").out())
        .containsPattern("\nlogin=dan is locked until 20\\S+Z: ticket 4711\n$");
    assertThat(remote("check", "SecureLogin", "login=dan").out())
        .containsPattern("^denied: locked out, passes in (30m|29m5\\ds)\n");
    String refusal = sluice.get("/v1/gate/SecureLogin?login=dan").response().body();
    assertThat(refusal)
        .contains("Rule 'SecureLogin' has locked this caller out until 20")
        .doesNotContain("oo many requests", "allows", "ticket 4711");
    remote("locks", "lift", "SecureLogin", "login=dan");
    assertThat(remote("accounts", "show", "SecureLogin", "login=dan").out())
        .doesNotContain("is locked");
    remote("locks", "lift", "SecureLogin", "login=dan2");
  }

  @Test
  void accountsAreShownAndReset() {
    remote("check", "SecureForgotAccount", "login=cid");

    assertThat(remote("accounts", "show", "SecureForgotAccount", "login=cid").out())
        .contains("3 per 30m  2 ");
    assertThat(remote("accounts", "reset", "SecureForgotAccount", "login=cid").out())
        .isEqualTo("login=cid is reset\n");
    assertThat(remote("accounts", "reset", "SecureForgotAccount", "login=cid").status())
        .isEqualTo(3);
  }

  @Test
  void overridesAreSetListedAndRemoved() {
    Ended none = remote("overrides", "list");
    Ended set =
        remote(
            "overrides",
            "set",
            "SecureLogin",
            "login=eve",
            "--limit",
            "5 per 1h",
            "--limit",
            "9 per 1d",
            "--until",
            "2030-01-01T00:00:00Z",
            "--reason",
            "ticket 4711",
            "--id",
            "eve-1");
    Ended check = remote("check", "SecureLogin", "login=eve");
    Ended list = remote("overrides", "list", "--matching", "4711");
    Ended others = remote("overrides", "list", "--matching", "4712");
    Ended json = remote("overrides", "list", "--json");
    Ended wrong = remote("overrides", "set", "SecureLogn", "login=eve", "--limit", "5 per 1h");
    Ended bad = remote("overrides", "set", "SecureLogin", "login=eve", "--limit", "none");
    Ended removed = remote("overrides", "remove", "eve-1");
    Ended again = remote("overrides", "remove", "eve-1");

    assertThat(none).isEqualTo(new Ended(0, "there are no overrides\n", ""));
    String row =
        "eve-1  SecureLogin  login=eve  5 per 1h, 9 per 1d  -     2030-01-01T00:00:00Z  \\S+ +admin"
            + "  ticket 4711\n";
    assertThat(set.status()).as(set.err()).isZero();
    assertThat(set.out()).startsWith("ID     RULE ").containsPattern(row);
    assertThat(check.out()).contains("5 per 1h", "9 per 1d");
    assertThat(list.out()).containsPattern(row);
    assertThat(others.out()).isEqualTo("there are no overrides\n");
    assertThat(json.out()).contains("\"reason\" : \"ticket 4711\"");
    assertThat(wrong.status()).isEqualTo(1);
    assertThat(wrong.err()).contains("did you mean 'SecureLogin'?");
    assertThat(bad.status()).isEqualTo(1);
    assertThat(bad.err()).contains("none");
    assertThat(removed).isEqualTo(new Ended(0, "removed\n", ""));
    assertThat(again).isEqualTo(new Ended(3, "there is no override eve-1\n", ""));
    assertThat(remote("check", "SecureLogin", "login=eve").out()).doesNotContain("9 per 1d");
  }

  @Test
  void anOverrideTakesAnyFormOfALimitAndLocksAndALength() {
    String bucket = "{\"token-bucket\":{\"capacity\":70,\"refill\":7,\"per\":\"1s\"}}";
    Instant before = Instant.now();
    Ended set =
        remote(
            "overrides",
            "set",
            "SecureLogin",
            "login=fay",
            "--id=fay-1",
            "--limit",
            bucket,
            "--lock=5m",
            "--lock=1h",
            "--for=2h",
            "--json");
    Ended check = remote("check", "SecureLogin", "login=fay");
    Ended list = remote("overrides", "list", "--matching", "fay");
    Ended unlocked =
        remote("overrides", "set", "SecureLogin", "login=fay", "--id=fay-1", "--lock", "none");
    remote("overrides", "remove", "fay-1");

    assertThat(set.status()).as(set.err()).isZero();
    assertThat(set.out()).contains("\"lock\" : [ \"5m\", \"1h\" ]", "\"capacity\" : 70");
    Matcher until = Pattern.compile("\"until\" : \"([^\"]+)").matcher(set.out());
    assertThat(until.find()).isTrue();
    assertThat(Instant.parse(until.group(1)))
        .isBetween(
            before.plus(Duration.ofHours(2)).minusSeconds(1),
            Instant.now().plus(Duration.ofHours(2)));
    assertThat(check.out()).contains("70 at once, 7 more every 1s");
    assertThat(list.out()).contains("  " + bucket + "  5m, 1h  ");
    assertThat(unlocked.status()).as(unlocked.err()).isZero();
    assertThat(unlocked.out()).containsPattern("login=fay  -       none  -      -");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "--limit={\"token-bucket\": | limit: '{\"token-bucket\":' (expected: JSON such as {\"token-bucket\":{",
        "--limit={} x | limit: '{} x' (expected: JSON such as",
        "--limit={\"a\":1,\"a\":2} | limit: '{\"a\":1,\"a\":2}' (expected: JSON such as",
        "--reason=none | limit: missing (expected: --limit, --lock or both)",
        "--limit=5 per 1h --for=1h --until=2030-01-01T00:00:00Z | until and for: both given (expected: one of them)",
        "--limit=5 per 1h --for=soon | for: 'soon' (expected: ",
        "--limit=5 per 1h --for=0s | for: "
      })
  void aWrongOptionOfAnOverrideIsAUsageError(String options, String error) {
    Ended ended =
        remote(
            Stream.concat(
                    Stream.of("overrides", "set", "SecureLogin", "login=gus"),
                    Arrays.stream(options.split(" (?=--)")))
                .toArray(String[]::new));

    assertThat(ended.status()).isEqualTo(2);
    assertThat(ended.err())
        .startsWith("sluice: " + error)
        .endsWith("try: ./sluice overrides set --help\n");
  }

  @Test
  void theHelpOfAnOverrideShowsATokenBucket() {
    assertThat(run("overrides", "set", "--help").out().replaceAll("\\s+", ""))
        .contains("'{\"token-bucket\":{\"capacity\":100,\"refill\":10,\"per\":\"1s\"}}'");
  }

  @Test
  void theReceiptKeyIsRotated() {
    assertThat(remote("receipts", "rotate")).isEqualTo(new Ended(0, "rotated\n", ""));
  }

  @Test
  void whatGoesWrongIsSaid() throws Exception {
    assertThat(remote("check", "SecureLogon", "login=x").err())
        .isEqualTo("sluice: rule 'SecureLogon': unknown (did you mean 'SecureLogin'?)\n");
    assertThat(remote("check", "SecureLogin", "ann").err())
        .isEqualTo("sluice: identity: 'ann' (expected: such as login=ann)\n");
    assertThat(run("locks", "list", "--url", sluice.url(), "--token", "wrong").err())
        .contains("admin token: not the one of this service", "the token came from --token;");
    assertThat(run("locks", "list", "--url", sluice.url()).err())
        .contains("needs the admin token", "pass the token with --token or SLUICE_ADMIN_TOKEN");
    assertThat(run("locks", "list", "--url", "http://127.0.0.1:" + Program.freePort()).err())
        .contains(
            "no service at http://127.0.0.1:",
            "(start one: ./sluice serve; or give its address: --url)");
    assertThat(run("locks", "liszt").status()).isEqualTo(2);
  }

  @Test
  void aTakenPortIsSaid() throws Exception {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      Ended ended = run("serve", "--port", "" + taken.getLocalPort());

      assertThat(ended.status()).isEqualTo(1);
      assertThat(ended.err())
          .isEqualTo(
              "sluice: cannot listen on 127.0.0.1:%d: the port is taken (choose another with --port, 0 for any free one)\n"
                  .formatted(taken.getLocalPort()));
    }
  }

  @Test
  void badOptionsAreSaid() {
    assertThat(run("serve", "--headers", "draft-7").err())
        .startsWith("sluice: headers: 'draft-7' (expected: one of x-ratelimit, ");
    assertThat(run("serve", "--trusted-proxies", "10.0.0.1/8").err())
        .startsWith("sluice: trusted proxy: '10.0.0.1/8' (expected: ");
    assertThat(run("serve", "--store", "mysql://u:secret@h").err())
        .isEqualTo("sluice: store: 'mysql://***@h' (expected: memory or redis://host:port)\n");
    assertThat(run("serve", "--nodes", "0").err()).contains("nodes: 0 (expected: at least 1)");
    assertThat(run("serve", "--admin-token", "short").err())
        .startsWith("sluice: admin token: 5 characters (expected: at least 16 ");
    assertThat(run("serve", "--max-request-bytes", "1000").err())
        .contains("max-request-bytes: 1,000 (expected: at least 135,168, for the largest call)");
    assertThat(run("serve", "--receipt-key-file", "no-such-key").err())
        .contains("receipt key file: 'no-such-key' cannot be read");
    assertThat(run("serve", "--rules", "no-such-file.yaml").err()).contains("no such file");
  }

  @Test
  void ruleFilesAreCheckedAndExplained(@TempDir Path directory) throws Exception {
    Path good = Files.writeString(directory.resolve("good.yaml"), run("rules", "sample").out());
    Path bad =
        Files.writeString(
            directory.resolve("bad.yaml"),
            "rules:\n  A: {by: [ip], limit: 0 per 1s}\n  B: {by: [ip], limit: x}\n");

    assertThat(run("rules", "check", good.toString()).out()).contains("SecureForgotAccount");
    assertThat(run("rules", "explain", good.toString(), "SecureLogin").out())
        .contains("SecureLogin");
    Ended refused = run("rules", "check", bad.toString());
    assertThat(refused.status()).isEqualTo(1);
    assertThat(refused.err()).contains("rule 'A'", "rule 'B'");
  }

  @Test
  void severalRuleFilesAreCheckedAtOnce(@TempDir Path directory) throws Exception {
    Path good = Files.writeString(directory.resolve("good.yaml"), "rules: {A: {limit: 1 per 1s}}");
    Path bad = Files.writeString(directory.resolve("bad.yaml"), "rules: {B: {limit: 0 per 1s}}");
    Path last = Files.writeString(directory.resolve("last.yaml"), "rules: {C: {limit: 1 per 1s}}");

    Ended ended = run("rules", "check", good.toString(), bad.toString(), last.toString());

    assertThat(ended.status()).isEqualTo(1);
    assertThat(ended.err()).isEqualTo(bad + ":1  rule 'B': limit is 0 (expected: at least 1)\n");
    assertThat(ended.out())
        .isEqualTo(
            """
            %s:
            RULE  COUNTS       MAY PASS     OTHERWISE
            A     every facet  1 in any 1s  denied

            %s:
            RULE  COUNTS       MAY PASS     OTHERWISE
            C     every facet  1 in any 1s  denied
            """
                .formatted(good, last));
    assertThat(run("rules", "check", good.toString(), last.toString()).status()).isZero();
  }

  @Test
  void warningsArePrintedAndFailOnlyIfStrict(@TempDir Path directory) throws Exception {
    Path doubtful =
        Files.writeString(
            directory.resolve("r.yaml"), "rules: {A: {limit: 1 per 1h, lock: [1m, 1h]}}");

    Ended lenient = run("rules", "check", doubtful.toString());
    Ended strict = run("rules", "check", "--strict", doubtful.toString());

    assertThat(lenient.status()).isZero();
    assertThat(lenient.out()).contains("1 in any 1h");
    assertThat(lenient.err()).startsWith(doubtful + ":1  warning: rule 'A': lock is 1m, and the");
    assertThat(strict).isEqualTo(new Ended(1, lenient.out(), lenient.err()));
  }

  @Test
  void theSampleLeavesNoDoubt(@TempDir Path directory) throws Exception {
    Path sample = Files.writeString(directory.resolve("r.yaml"), run("rules", "sample").out());

    Ended checked = run("rules", "check", "--strict", sample.toString());

    assertThat(checked.err()).isEmpty();
    assertThat(checked.status()).isZero();
    assertThat(Files.readString(Path.of("../docs/examples/rules.yaml")))
        .isEqualTo(Sluice.shippedSample());
  }

  @Test
  void theLockOfEveryoneIsSetShownAndLiftedWithoutAFacet() {
    String rules = "rules: {Exports: {by: everyone, limit: 2 per 1m, lock: 1m, lockOn: limit}}";
    try (Sluice service = Sluice.start(Settings.defaults(), rules)) {
      String[] to = {"--url", service.url(), "--token", Sluice.TOKEN};
      run("check", "Exports", to[0], to[1]);
      Ended second = run("check", "Exports", "login=ann", to[0], to[1]);
      Ended list = run("locks", "list", to[0], to[1], to[2], to[3]);
      Ended show = run("accounts", "show", "Exports", to[0], to[1], to[2], to[3]);
      Ended wrong = run("locks", "lift", "Exports", "login=ann", to[0], to[1], to[2], to[3]);
      Ended lifted = run("locks", "lift", "Exports", to[0], to[1], to[2], to[3]);
      Ended set = run("locks", "set", "Exports", "--for", "5m", to[0], to[1], to[2], to[3]);
      Ended listed = run("locks", "lift", "Exports", "everyone=all", to[0], to[1], to[2], to[3]);

      assertThat(second.out()).containsPattern("Exports +everyone=all +2 per 1m +0 ");
      assertThat(list.out()).containsPattern("Exports +everyone=all +\\S+Z");
      assertThat(show.out()).contains("everyone=all");
      assertThat(wrong.err())
          .contains(
              "rule 'Exports': the identity has [login] (expected: everyone=all, or no facets)");
      assertThat(lifted.status()).isZero();
      assertThat(set.out()).contains("everyone=all");
      assertThat(listed.status()).isZero();
    }
  }

  @Test
  void theTokenIsReadableByItsUserAlone(@TempDir Path directory) throws Exception {
    Path file = directory.resolve("home/.sluice/admin-token-1");
    AdminToken token = AdminToken.random();

    token.writeTo(file);
    token.writeTo(file);

    assertThat(AdminToken.readFrom(file)).contains(token.text());
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
        .isEqualTo("rw-------");
    token.removeFrom(file);
    assertThat(file).doesNotExist();
  }
}
