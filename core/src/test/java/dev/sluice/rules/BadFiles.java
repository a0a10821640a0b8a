package dev.sluice.rules;

import static java.util.stream.Collectors.joining;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;

/** Rule files that must be refused, each with the first complaint about it. */
public final class BadFiles {
  private BadFiles() {}

  /**
   * One bad file.
   *
   * @param complaint how the first complaint begins, from the file's name on
   * @param seenBySchema whether a JSON Schema can say so, too
   */
  record Bad(String what, String file, byte[] bytes, String complaint, boolean seenBySchema) {
    @Override
    public String toString() {
      return what;
    }

    String text() {
      return new String(bytes, StandardCharsets.UTF_8);
    }
  }

  private static final List<Bad> ALL = new ArrayList<>();

  /** YAML that is wrong in a way that a schema sees. */
  private static void yaml(String what, String text, String complaint) {
    ALL.add(new Bad(what, "r.yaml", utf8(text), complaint, true));
  }

  /** YAML that is wrong in a way that only the reader sees. */
  private static void deep(String what, String text, String complaint) {
    ALL.add(new Bad(what, "r.yaml", utf8(text), complaint, false));
  }

  private static void xml(String what, String text, String complaint) {
    ALL.add(new Bad(what, "r.xml", utf8(text), complaint, false));
  }

  private static void bytes(String what, String file, byte[] bytes, String complaint) {
    ALL.add(new Bad(what, file, bytes, complaint, false));
  }

  public static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static List<Bad> all() {
    return Collections.unmodifiableList(ALL);
  }

  /** A rule 'a' with the given lines, of which the first is line 3. */
  private static String rule(String lines) {
    return "rules:\n  a:\n" + lines.stripTrailing().indent(4);
  }

  static {
    keys();
    numbers();
    durations();
    calendars();
    locks();
    overrides();
    addresses();
    everyone();
    facets();
    shapes();
    syntax();
    encodings();
    settings();
    attacksInXml();
  }

  private static void keys() {
    yaml(
        "misspelt key",
        rule("limt: 3 per 30m\nlimit: 3 per 30m"),
        "r.yaml:3  rule 'a': key 'limt' is unknown (did you mean 'limit'?)");
    yaml(
        "key in another case",
        rule("limit: 3 per 30m\nlockmemory: 1h"),
        "r.yaml:4  rule 'a': key 'lockmemory' is unknown (did you mean 'lockMemory'?)");
    yaml(
        "key that resembles none",
        rule("limit: 3 per 30m\nzzzzzzzzzz: 1"),
        "r.yaml:4  rule 'a': key 'zzzzzzzzzz' is unknown (expected: one of by, limit, limits,");
    yaml(
        "unknown key of the file",
        "rule:\n  a: {limit: 1 per 1s}\n",
        "r.yaml:1  key 'rule' is unknown (did you mean 'rules'?)");
    yaml(
        "unknown key of a limit",
        rule("limits:\n  - sliding-window: {limit: 3, per: 1h, precison: 1m}"),
        "r.yaml:4  rule 'a': key 'precison' is unknown (did you mean 'precision'?)");
    yaml(
        "unknown kind of limit",
        rule("limits:\n  - tokenbucket: {capacity: 3, refill: 1, per: 1s}"),
        "r.yaml:4  rule 'a': the kind of limit is 'tokenbucket' (did you mean 'token-bucket'?)");
    deep(
        "merge key",
        rule("<<: {limit: 1 per 1s}\nlimit: 1 per 1s"),
        "r.yaml:3  rule 'a': key '<<' is unknown (expected: one of");
    deep(
        "duplicate rule",
        "rules:\n  a: {limit: 1 per 1s}\n  b: {limit: 1 per 1s}\n  a: {limit: 2 per 1s}\n",
        "r.yaml:4  'a' is there twice, first on line 2 (expected: once)");
    deep(
        "duplicate key",
        rule("limit: 1 per 1s\nlimit: 2 per 1s"),
        "r.yaml:4  rule 'a': 'limit' is there twice, first on line 3 (expected: once)");
  }

  private static void numbers() {
    yaml(
        "zero in the short form",
        rule("limit: 0 per 30m"),
        "r.yaml:3  rule 'a': limit is 0 (expected: at least 1)");
    yaml(
        "zero in the long form",
        rule("limits:\n  - sliding-log:\n      per: 30m\n      limit: 0"),
        "r.yaml:6  rule 'a': limit is 0 (expected: at least 1)");
    yaml(
        "negative",
        rule("limits:\n  - fixed-window: {limit: -5, per: 1h}"),
        "r.yaml:4  rule 'a': limit is -5 (expected: at least 1)");
    yaml(
        "overflow of a long",
        rule("limits:\n  - fixed-window: {limit: 99999999999999999999, per: 1h}"),
        "r.yaml:4  rule 'a': limit is 99999999999999999999 (expected: at most 4503599627370496)");
    yaml(
        "beyond 2^52",
        rule("limits:\n  - fixed-window: {limit: 4503599627370497, per: 1h}"),
        "r.yaml:4  rule 'a': limit is 4503599627370497 (expected: at most 4503599627370496)");
    yaml(
        "sliding log too large",
        rule("limits:\n  - sliding-log: {limit: 1000001, per: 1h}"),
        "r.yaml:4  rule 'a': limit is 1000001 (expected: at most 1000000 for a sliding log;");
    deep(
        "bucket beyond exact arithmetic",
        rule("limits:\n  - token-bucket: {capacity: 1000000000, refill: 1, per: 365d}"),
        "r.yaml:4  rule 'a': capacity × per is 1000000000 × 365d (expected: at most 2^52");
    yaml(
        "number with a fraction",
        rule("limits:\n  - sliding-log: {limit: 1.5, per: 1h}"),
        "r.yaml:4  rule 'a': limit is '1.5' (expected: a whole number)");
    yaml(
        "number in quotes",
        rule("limits:\n  - sliding-log: {limit: \"3\", per: 1h}"),
        "r.yaml:4  rule 'a': limit is '3' in quotes (expected: a whole number)");
    yaml(
        "refill of zero",
        rule("limits:\n  - token-bucket:\n      capacity: 5\n      refill: 0\n      per: 1s"),
        "r.yaml:6  rule 'a': refill is 0 (expected: at least 1)");
    yaml(
        "seventeen limits",
        rule("limits: [" + "1 per 1s, ".repeat(16) + "1 per 1s]"),
        "r.yaml:3  rule 'a': limits is 17 (expected: at most 16)");
  }

  private static void durations() {
    yaml(
        "no duration",
        rule("limit: 3 per 5 fortnights"),
        "r.yaml:3  rule 'a': per is '5 fortnights' (expected: a duration such as");
    yaml(
        "duration without a unit",
        rule("limit: 3 per 30m\nlock: 30"),
        "r.yaml:4  rule 'a': lock is '30' (expected: a duration such as");
    yaml(
        "duration of zero",
        rule("limits:\n  - sliding-log: {limit: 3, per: 0s}"),
        "r.yaml:4  rule 'a': per is 0s (expected: longer than 0)");
    deep(
        "duration of centuries",
        rule("limit: 3 per 99999d"),
        "r.yaml:3  rule 'a': per is '99999d' (expected: at most");
    deep(
        "precision above the window",
        rule("limits:\n  - sliding-window:\n      limit: 3\n      per: 1m\n      precision: 2m"),
        "r.yaml:7  rule 'a': precision is 2m (expected: at most the window, 1m)");
    deep(
        "precision far too fine",
        rule("limit: 3 per 1h precision 1ms"),
        "r.yaml:3  rule 'a': precision is 1ms (expected: at least a 3,600th of the window, 1h)");
    yaml(
        "short form in other words",
        rule("limit: 3 every 30m"),
        "r.yaml:3  rule 'a': limit is '3 every 30m' (did you mean '3 per 30m'?)");
    yaml(
        "short form that resembles none",
        rule("limit: thrice"),
        "r.yaml:3  rule 'a': limit is 'thrice' (expected: such as 3 per 30m, or one of");
    yaml(
        "a second in words",
        rule("limit: 10 per second"),
        "r.yaml:3  rule 'a': per is 'second' (did you mean '1s'?)");
    yaml(
        "a unit without a number",
        rule("limit: 10 per s"),
        "r.yaml:3  rule 'a': per is 's' (did you mean '1s'?)");
    yaml(
        "minutes in words",
        rule("limit: 10 per 1 minute"),
        "r.yaml:3  rule 'a': per is '1 minute' (did you mean '1m'?)");
    yaml(
        "a slash",
        rule("limit: 10/s"),
        "r.yaml:3  rule 'a': limit is '10/s' (did you mean '10 per 1s'?)");
    yaml(
        "a lock in words",
        rule("limit: 3 per 30m\nlock: 30 minutes"),
        "r.yaml:4  rule 'a': lock is '30 minutes' (did you mean '30m'?)");
  }

  private static void calendars() {
    deep(
        "misspelt zone",
        rule("limits:\n  - fixed-window: {limit: 3, per: month, zone: Europe/Berln}"),
        "r.yaml:4  rule 'a': zone is 'Europe/Berln' (did you mean 'Europe/Berlin'?)");
    deep(
        "zone that resembles none",
        rule("limits:\n  - fixed-window: {limit: 3, per: month, zone: Middle-earth/Shire}"),
        "r.yaml:4  rule 'a': zone is 'Middle-earth/Shire' (expected: a region such as");
    yaml(
        "calendar unit in the short form",
        rule("limit: 3 per month"),
        "r.yaml:3  rule 'a': per is 'month' (expected: a duration such as 30d; calendar units need"
            + " fixed-window: {limit: 3, per: month})");
    yaml(
        "zone in the short form",
        rule("limit: 1000 per day zone Asia/Taipei"),
        "r.yaml:3  rule 'a': limit is '1000 per day zone Asia/Taipei' (expected: fixed-window:"
            + " {limit: 1000, per: day, zone: Asia/Taipei})");
    deep(
        "abbreviated zone",
        rule("limits:\n  - fixed-window: {limit: 3, per: month, zone: CST}"),
        "r.yaml:4  rule 'a': zone is 'CST' (expected: a region such as Asia/Taipei or");
    deep(
        "zone without its continent",
        rule("limits:\n  - fixed-window: {limit: 3, per: month, zone: taipei}"),
        "r.yaml:4  rule 'a': zone is 'taipei' (did you mean 'Asia/Taipei'?)");
    yaml(
        "zone without a calendar unit",
        rule("limits:\n  - fixed-window: {limit: 3, per: 1d, zone: Europe/Berlin}"),
        "r.yaml:4  rule 'a': zone is there, but per is '1d' (expected: per minute, hour, day,");
    yaml(
        "anchor outside of a month",
        rule("limits:\n  - fixed-window: {limit: 3, per: month, anchor: 32}"),
        "r.yaml:4  rule 'a': anchor is 32 (expected: a day of the month, 1 to 31)");
    yaml(
        "anchor of a day",
        rule("limits:\n  - fixed-window: {limit: 3, per: day, anchor: 1}"),
        "r.yaml:4  rule 'a': anchor is there, but per is day (expected: week, month or year)");
    yaml(
        "anchor that is no weekday",
        rule("limits:\n  - fixed-window: {limit: 3, per: week, anchor: sundey}"),
        "r.yaml:4  rule 'a': anchor is 'sundey' (did you mean 'sunday'?)");
    deep(
        "anchor that no year has",
        rule("limits:\n  - fixed-window: {limit: 3, per: year, anchor: 02-30}"),
        "r.yaml:4  rule 'a': anchor is 02-30 (expected: a month and day such as 04-01)");
  }

  private static void locks() {
    yaml(
        "lock without a limit",
        rule("by: [ip]\nlock: 30m"),
        "r.yaml:4  rule 'a': lock is there without a limit (expected: limit or limits)");
    yaml("no limit", rule("by: [ip]"), "r.yaml:2  rule 'a': limit is missing (expected: limit or");
    yaml(
        "lock of zero",
        rule("limit: 3 per 30m\nlock: [1m, 0s]"),
        "r.yaml:4  rule 'a': lock is 0s (expected: longer than 0)");
    yaml(
        "empty list of locks",
        rule("limit: 3 per 30m\nlock: []"),
        "r.yaml:4  rule 'a': lock is an empty list (expected: a duration such as 30m, or a list");
    yaml(
        "lockMemory without a lock",
        rule("limit: 3 per 30m\nlockMemory: 1h"),
        "r.yaml:4  rule 'a': lockMemory is there without a lock (expected: lock)");
    yaml(
        "lockOn without a lock",
        rule("limit: 3 per 30m\nlockOn: limit"),
        "r.yaml:4  rule 'a': lockOn is there without a lock (expected: lock)");
    yaml(
        "lock on something else",
        rule("limit: 3 per 30m\nlock: 30m\nlockOn: limits"),
        "r.yaml:5  rule 'a': lockOn is 'limits' (did you mean 'limit'?)");
  }

  private static void overrides() {
    yaml(
        "override without when",
        rule("limit: 3 per 30m\noverrides:\n  - limit: 5 per 30m"),
        "r.yaml:5  rule 'a': override: when is missing (expected: the facets it is for,");
    yaml(
        "override that changes nothing",
        rule("limit: 3 per 30m\noverrides:\n  - when: {member: x}"),
        "r.yaml:5  rule 'a': override: nothing is different (expected: limit, limits or lock)");
    yaml(
        "override for nobody",
        rule("limit: 3 per 30m\noverrides:\n  - {when: {}, limit: 5 per 30m}"),
        "r.yaml:5  rule 'a': when is an empty mapping (expected: such as {apiKey: acme})");
    yaml(
        "override until no time",
        rule("limit: 3 per 30m\noverrides:\n  - {when: {member: x}, until: soon, lock: 1m}"),
        "r.yaml:5  rule 'a': until is 'soon' (expected: a time such as 2030-01-01T00:00:00Z)");
    yaml(
        "override with a bad limit",
        rule("limit: 3 per 30m\noverrides:\n  - when: {member: x}\n    limit: 0 per 30m"),
        "r.yaml:6  rule 'a': limit is 0 (expected: at least 1)");
    yaml(
        "exemption without facets",
        rule("limit: 3 per 30m\nexempt:\n  - 192.0.2.1"),
        "r.yaml:5  rule 'a': exempt is '192.0.2.1' (expected: such as {apiKey: acme})");
  }

  private static void addresses() {
    deep(
        "exempt address that is none",
        rule("limit: 3 per 30m\nexempt:\n  - {ip: 999.1.1.1}"),
        "r.yaml:5  rule 'a': ip is '999.1.1.1' (expected: an address or a range, such as");
    deep(
        "range with bits behind its prefix",
        rule("limit: 3 per 30m\nexempt: [{ip: 10.1.2.3/8}]"),
        "r.yaml:4  rule 'a': ip is '10.1.2.3/8' (expected: no bits behind the prefix: 10.0.0.0/8)");
    deep(
        "IPv4 written as IPv6",
        rule("limit: 3 per 30m\nexempt: [{ip: '::ffff:10.9.9.9'}]"),
        "r.yaml:4  rule 'a': ip is '::ffff:10.9.9.9' (expected: IPv4 written as IPv4, such as");
    deep(
        "single IPv6 address",
        rule("limit: 3 per 30m\nexempt: [{ip: '2001:db8::5'}]"),
        "r.yaml:4  rule 'a': ip is '2001:db8::5' (expected: 2001:db8::/64, as IPv6 clients are"
            + " counted; or 2001:db8::5/128 if yours are counted by address)");
    deep(
        "range for a facet that is no address",
        rule("limit: 3 per 30m\noverrides: [{when: {apiKey: 10.0.0.0/8}, lock: 30m}]"),
        "r.yaml:4  rule 'a': apiKey is the range '10.0.0.0/8' (expected: ranges only for a facet"
            + " that is client-address)");
    deep(
        "range for an ip that comes from a header",
        "facets: {ip: {header: X-Real-IP}}\n"
            + rule("limit: 3 per 30m\nexempt: [{ip: 10.0.0.0/8}]"),
        "r.yaml:5  rule 'a': ip is the range '10.0.0.0/8' (expected: ranges only for a facet that");
  }

  private static void everyone() {
    yaml(
        "everyone joined with a facet",
        rule("by: everyone+ip\nlimit: 3 per 30m"),
        "r.yaml:3  rule 'a': by is 'everyone+ip' (expected: everyone by itself; it counts all");
    yaml(
        "facet called everyone",
        "facets: {everyone: principal}\nrules: {}\n",
        "r.yaml:1  facet name is 'everyone' (expected: another name; this one stands for all");
    yaml(
        "exemption by everyone",
        rule("limit: 3 per 30m\nexempt: [{everyone: all}]"),
        "r.yaml:4  rule 'a': facet name is 'everyone' (expected: another name; this one stands");
  }

  private static String names(int count) {
    return IntStream.rangeClosed(1, count).mapToObj(i -> "f" + i).collect(joining(", "));
  }

  private static void facets() {
    deep(
        "count by an unknown facet",
        "facets: {member: {header: X-Member}}\n" + rule("by: [membr]\nlimit: 3 per 30m"),
        "r.yaml:4  rule 'a': by is the unknown facet 'membr' (did you mean 'member'?)");
    deep(
        "count by a facet that only code could supply",
        "facets: {member: {header: X-Member}}\n" + rule("by: [login]\nlimit: 3 per 30m"),
        "r.yaml:4  rule 'a': by is the unknown facet 'login' (expected: member; or facets: login:"
            + " caller if your code supplies it)");
    yaml(
        "facet from nowhere",
        "facets:\n  ip: cleint-address\nrules: {}\n",
        "r.yaml:2  facet 'ip' is 'cleint-address' (did you mean 'client-address'?)");
    yaml(
        "facet in an unknown form",
        "facets:\n  login: {query: login, normalize: [nfkc, lowercse]}\nrules: {}\n",
        "r.yaml:2  normalize is 'lowercse' (did you mean 'lowercase'?)");
    yaml(
        "facet in no form",
        "facets:\n  login: {query: login, normalize: []}\nrules: {}\n",
        "r.yaml:2  normalize is an empty list (expected: such as [nfkc, trim, lowercase])");
    yaml(
        "facet in a form twice",
        "facets:\n  login: {query: login, normalize: [trim, trim]}\nrules: {}\n",
        "r.yaml:2  normalize has trim twice (expected: once)");
    yaml(
        "65 identities",
        rule("by: [" + names(65) + "]\nlimit: 3 per 30m"),
        "r.yaml:3  rule 'a': by is 65 identities (expected: at most 64)");
    deep(
        "17 facets in one identity",
        rule("by: [" + names(17).replace(", ", "+") + "]\nlimit: 3 per 30m"),
        "r.yaml:3  rule 'a': by is 'f1+f2+f3+f4+f5+f6+f7+f8+f9+f10+f11+f12+f13+f14+f15+f16+f17'"
            + " (expected: at most 16 facets)");
    yaml(
        "facet from two sources",
        "facets:\n  ip: {header: A, query: b}\nrules: {}\n",
        "r.yaml:2  facet 'ip' has header and query (expected: one of header, cookie, query,");
    yaml(
        "header that cannot be",
        "facets:\n  ip: {header: \"X Forwarded: For\"}\nrules: {}\n",
        "r.yaml:2  header is 'X Forwarded: For' (expected: the name of a header)");
    yaml(
        "name that is no facet's",
        rule("by: [member code]\nlimit: 3 per 30m"),
        "r.yaml:3  rule 'a': facet name is 'member code' (expected: a letter, then letters,");
    deep(
        "the same identity twice",
        rule("by: [member+promo, promo+member]\nlimit: 3 per 30m"),
        "r.yaml:3  rule 'a': by is 'promo+member' a second time (expected: once)");
    yaml(
        "nobody to count",
        rule("by: []\nlimit: 3 per 30m"),
        "r.yaml:3  rule 'a': by is an empty list (expected: such as [member, ip, member+promo], or");
  }

  private static void shapes() {
    yaml(
        "limit and limits",
        rule("limit: 3 per 30m\nlimits: [1 per 1s]"),
        "r.yaml:4  rule 'a': limit and limits are both there (expected: one of them)");
    yaml(
        "unknown mode",
        rule("limit: 3 per 30m\nmode: shdow"),
        "r.yaml:4  rule 'a': mode is 'shdow' (did you mean 'shadow'?)");
    yaml(
        "unknown choice for a store that does not answer",
        rule("limit: 3 per 30m\nonStoreFailure: panic"),
        "r.yaml:4  rule 'a': onStoreFailure is 'panic' (expected: one of allow, deny, local)");
    yaml(
        "yes is not true",
        rule("limit: 3 per 30m\ncountDenied: yes"),
        "r.yaml:4  rule 'a': countDenied is 'yes' (expected: true or false)");
    yaml(
        "rule name with a space",
        "rules:\n  my rule: {limit: 1 per 1s}\n",
        "r.yaml:2  rule is 'my rule' (expected: letters, digits,");
    yaml(
        "rule that is a word",
        "rules:\n  a: 3 per 30m\n",
        "r.yaml:2  rule 'a': the rule is '3 per 30m' (expected: a mapping with by, limit, limits,");
    yaml(
        "list of rules",
        "rules:\n  - a: {limit: 1 per 1s}\n",
        "r.yaml:1  rules is a list (expected: rules by their names)");
    yaml(
        "only facets",
        "facets: {ip: client-address}\n",
        "r.yaml:1  rules is missing (expected: rules by their names)");
    yaml(
        "nothing under rules",
        "rules:\n",
        "r.yaml:1  rules is empty (expected: rules by their names)");
    yaml("empty file", "", "r.yaml:1  the file is empty (expected: rules)");
    yaml("only comments", "# nothing yet\n", "r.yaml:1  the file is empty (expected: rules)");
  }

  private static void syntax() {
    deep(
        "tab indentation",
        "rules:\n  a:\n\tlimit: 3 per 30m\n",
        "r.yaml:3  the line is indented with a tab (expected: spaces)");
    deep(
        "two documents",
        rule("limit: 3 per 30m") + "---\n" + rule("limit: 5 per 30m"),
        "r.yaml:4  a second document begins (expected: one document in a file)");
    deep("unclosed bracket", rule("by: [ip\nlimit: 3 per 30m"), "r.yaml:4  not well-formed: ");
    deep(
        "tag",
        rule("limit: !!javax.script.ScriptEngineManager [x]"),
        "r.yaml:3  the tag 'tag:yaml.org,2002:javax.script.ScriptEngineManager' (expected: no");
    deep(
        "alias without an anchor",
        rule("limit: *nothing"),
        "r.yaml:3  the alias *nothing has no anchor before it (expected: &nothing on a value");
    deep(
        "alias of what it stands in",
        "rules: &all\n  a: *all\n",
        "r.yaml:2  the alias *all has no anchor before it (expected: &all on a value that ends");
    deep(
        "anchors bomb",
        bomb(),
        "r.yaml:6  aliases make the file larger than 1,000,000 parts (expected: few aliases)");
    deep(
        "nested without end",
        "rules: " + "[".repeat(100_000),
        "r.yaml:1  nested deeper than 32 (expected: the form of a rule file)");
    deep("list as a key", "rules:\n  ? [a, b]\n  : c\n", "r.yaml:2  a key is a list (expected: a");
  }

  private static String bomb() {
    StringBuilder text = new StringBuilder("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 10; i++) {
      String before = "*a" + (i - 1) + ", ";
      text.append("a%d: &a%d [%s%s]\n".formatted(i, i, before.repeat(9), before.substring(0, 3)));
    }
    return text + "rules: *a9\n";
  }

  private static void encodings() {
    byte[] latin1 = rule("limit: 3 per 30m # für alle").getBytes(StandardCharsets.ISO_8859_1);
    bytes(
        "Latin-1",
        "r.yaml",
        latin1,
        "r.yaml:3  byte 0xFC at position 36 (expected: text in UTF-8)");
    bytes(
        "UTF-16 with its byte order mark",
        "r.yaml",
        rule("limit: 3 per 30m").getBytes(StandardCharsets.UTF_16),
        "r.yaml:1  the encoding is UTF-16 (expected: UTF-8)");
    bytes(
        "UTF-16 without a mark",
        "r.yaml",
        rule("limit: 3 per 30m").getBytes(StandardCharsets.UTF_16BE),
        "r.yaml:1  the control character U+0000 (expected: text in UTF-8)");
    bytes(
        "binary",
        "r.yaml",
        new byte[] {0x7f, 'E', 'L', 'F', 2, 1, 1, 0},
        "r.yaml:1  the control character U+007F (expected: text in UTF-8)");
    bytes(
        "bytes that are cut off",
        "r.yaml",
        new byte[] {'a', ':', '\n', (byte) 0xE2, (byte) 0x82},
        "r.yaml:2  byte 0xE2 at position 3 (expected: text in UTF-8)");
    bytes(
        "one byte too large",
        "r.yaml",
        new byte[RuleFiles.LARGEST_BYTES + 1],
        "r.yaml  the file has 1,048,577 bytes (expected: at most 1,048,576)");
    bytes(
        "XML in another encoding",
        "r.xml",
        utf8("<?xml version='1.0' encoding='ISO-8859-1'?>\n" + settings("")),
        "r.xml:1  encoding is 'ISO-8859-1' (expected: UTF-8)");
  }

  /** Settings, of which the first is on line 2 of its own. */
  private static String settings(String inner) {
    return "<ArrayOfSuspectUsageSettingEntity>\n%s\n</ArrayOfSuspectUsageSettingEntity>\n"
        .formatted(inner);
  }

  private static String setting(String attributes) {
    return settings("  <SuspectUsageSettingEntity " + attributes + " />");
  }

  private static void settings() {
    xml(
        "setting of zero",
        setting("Action='A' LimitCount='0' LimitDuration='60'"),
        "r.xml:2  rule 'A': LimitCount is 0 (expected: at least 1)");
    xml(
        "negative lock on a line of its own",
        setting("Action='A'\n LimitCount='1'\n LimitDuration='60'\n BlockDuration='-1'"),
        "r.xml:5  rule 'A': BlockDuration is -1 (expected: at least 1)");
    xml(
        "overflow",
        setting("Action='A' LimitCount='9999999999999999999999' LimitDuration='60'"),
        "r.xml:2  rule 'A': LimitCount is 9999999999999999999999 (expected: at most");
    xml(
        "log too large",
        setting("Action='A' LimitCount='2000000' LimitDuration='60'"),
        "r.xml:2  rule 'A': LimitCount is 2000000 (expected: at most 1000000 for a sliding log;");
    xml(
        "duration with a unit",
        setting("Action='A' LimitCount='1' LimitDuration='60s'"),
        "r.xml:2  rule 'A': LimitDuration is '60s' (expected: a whole number)");
    xml(
        "empty lock",
        setting("Action='A' LimitCount='1' LimitDuration='60' BlockDuration=''"),
        "r.xml:2  rule 'A': BlockDuration is '' (expected: a whole number)");
    xml(
        "lock without a limit in XML",
        setting("Action='A' BlockDuration='60'"),
        "r.xml:2  rule 'A': LimitCount is missing (expected: a whole number)");
    xml(
        "misspelt attribute",
        setting("Action='A' LimitCount='1' LimitDuration='1' BlokDuration='9'"),
        "r.xml:2  rule 'A': attribute 'BlokDuration' is unknown (did you mean 'BlockDuration'?)");
    xml(
        "setting without a name",
        setting("LimitCount='1' LimitDuration='1'"),
        "r.xml:2  Action is missing (expected: the name of the rule)");
    xml(
        "duplicate setting",
        settings(
            "<SuspectUsageSettingEntity Action='A' LimitCount='1' LimitDuration='1'/>\n"
                + "<SuspectUsageSettingEntity Action='A' LimitCount='2' LimitDuration='1'/>"),
        "r.xml:3  'A' is there twice, first on line 2 (expected: once)");
    xml(
        "another element",
        settings("<SuspectUsageSettingEntitty/>"),
        "r.xml:2  element <SuspectUsageSettingEntitty> (did you mean 'SuspectUsageSettingEntity'?)");
    xml("another root", "<rules/>", "r.xml:1  element <rules> (expected: ArrayOfSuspectUsageSett");
    xml("text in between", settings("hello\n"), "r.xml:2  the text 'hello' (expected: elements)");
    xml("empty XML", " \n", "r.xml:1  the file is empty (expected: <ArrayOfSuspectUsageSetting");
    xml("unclosed element", "<ArrayOfSuspectUsageSettingEntity>\n\n", "r.xml:3  not well-formed: ");
  }

  private static void attacksInXml() {
    xml(
        "XXE",
        "<?xml version='1.0'?>\n<!DOCTYPE r [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>\n"
            + setting("Action='&x;' LimitCount='1' LimitDuration='1'"),
        "r.xml:2  a DOCTYPE is there (expected: none)");
    xml(
        "external DTD",
        "<!DOCTYPE r SYSTEM 'http://127.0.0.1:1/r.dtd'>\n" + settings(""),
        "r.xml:1  a DOCTYPE is there (expected: none)");
    xml(
        "billion laughs",
        "<!DOCTYPE r [\n<!ENTITY a 'aaaaaaaaaa'>\n<!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;'>\n]>\n"
            + settings("&b;"),
        "r.xml:1  a DOCTYPE is there (expected: none)");
    xml("entity from nowhere", settings("&x;"), "r.xml:2  not well-formed: ");
  }
}
