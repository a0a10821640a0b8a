package dev.sluice.rules;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;

/** YAML that loads, and fits the schema. */
final class GoodFiles {
  private GoodFiles() {}

  /** The forms that the example does not show. */
  static final String OTHER_FORMS =
      """
      facets:
        user: principal
        visit: session
        login: caller
        tenant: {claim: tid}
        token: {from: principal, secret: true}
        email: {claim: email, normalize: [lowercase, trim]}
        name: {header: X-Name, normalize: nfkc}
      rules:
        every:
          by: user
          limits: [10 per 1s, 240 per 1h precision 1m]
          mode: enforce
          missing: skip
          colocate: true
          onStoreFailure: deny
        calendar:
          limits:
            - fixed-window: {limit: 1, per: week, zone: Asia/Taipei, anchor: sunday}
            - fixed-window: {limit: 2, per: month, anchor: 15}
            - fixed-window: {limit: 3, per: year, anchor: 04-01}
            - fixed-window: {limit: 4, per: 90m}
            - sliding-window: {limit: 5, per: 1h}
        one:
          limit: {sliding-log: {limit: 7, per: 10s}}
        guard:
          by: [everyone, user]
          limit: 3 per 30m
          lock: 30m
          lockOn: limit
      """;

  static final String OVERRIDES =
      """
      rules:
        a:
          limit: 3 per 30m
          lock: [1m, 10m]
          lockMemory: 1d
          countDenied: true
          overrides:
            - {when: {ip: 192.0.2.1}, limit: 5 per 30m}
            - {when: {ip: 10.0.0.0/8}, lock: 1h}
            - {when: {ip: "2001:db8::/64"}, lockMemory: 2d}
            - {when: {member: never}, lock: none}
            - {when: {member: 007}, until: 2030-01-01T00:00:00+01:00, countDenied: false}
            - {when: {member: early}, lockOn: limit}
        b:
          limit: 3 per 30m
          lock: 30m
          lockOn: limit
          overrides:
            - {when: {member: longer}, lock: 1h}
            - {when: {member: memory}, lockMemory: 1d}
            - {when: {member: late}, lockOn: denial}
      """;

  static List<String> all() throws IOException {
    return List.of(
        example(),
        OTHER_FORMS,
        OVERRIDES,
        "rules: {}",
        "{\"rules\": {\"a\": {\"limit\": \"1 per 1s\"}}}");
  }

  private static String example() throws IOException {
    try (InputStream in = GoodFiles.class.getResourceAsStream("rules.yaml")) {
      return new String(Objects.requireNonNull(in).readAllBytes(), StandardCharsets.UTF_8);
    }
  }
}
