package dev.sluice.spring;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The settings {@code sluice.*}.
 *
 * @param enabled Whether Sluice is on.
 * @param store Where usage is kept: "memory" (this JVM alone), "spring" (the Redis of
 *     spring.data.redis.*), or a URI such as redis://host:6379, rediss://, redis-sentinel://,
 *     redis-cluster://host:port,host:port.
 * @param deadline Timeout for Redis; after it, a rule's onStoreFailure decides.
 * @param nodes Number of nodes that share the limits. While Redis does not answer, each grants its
 *     share (onStoreFailure: local, the default).
 * @param requireStore Whether the start fails if Redis does not answer.
 * @param functions Whether to use Redis functions (FCALL) where Redis has them; else EVALSHA.
 * @param reports Whether a node on Redis shares a summary of its decisions, for the console.
 * @param rules Rules by name, with the keys of a rule file.
 * @param rulesFile A rule file: a path, which is reloaded when it changes, or classpath:name.
 * @param facets The part of a request that each facet is read from, as in a rule file.
 * @param routes Paths that are limited by a filter.
 * @param place Whether routes are limited before or after Spring Security, unless a route sets its
 *     own.
 * @param login Limits failed logins through Spring Security; off if it is missing.
 * @param headers Rate-limit headers of answers: x-ratelimit, draft-11, both, none.
 * @param trustedProxies Proxies whose forwarded header is trusted; addresses or CIDR ranges.
 * @param forwardedHeader The header that trusted proxies set: x-forwarded-for or forwarded.
 * @param ipv6Prefix IPv6 addresses with the same prefix of this length are one client.
 */
@ConfigurationProperties("sluice")
public record SluiceProperties(
    @DefaultValue("true") boolean enabled,
    @DefaultValue("memory") String store,
    @DefaultValue("500ms") Duration deadline,
    @DefaultValue("1") int nodes,
    @DefaultValue("false") boolean requireStore,
    @DefaultValue("true") boolean functions,
    @DefaultValue("true") boolean reports,
    @DefaultValue Map<String, Object> rules,
    @Nullable String rulesFile,
    @DefaultValue Map<String, Object> facets,
    @DefaultValue List<Route> routes,
    @DefaultValue("before-security") Place place,
    @Nullable Login login,
    @DefaultValue("both") String headers,
    @DefaultValue List<String> trustedProxies,
    @DefaultValue("x-forwarded-for") String forwardedHeader,
    @DefaultValue("64") int ipv6Prefix) {

  /** The position of a route's filter. */
  public enum Place {
    /** Sees every request, also those that Spring Security will refuse; the user is not known. */
    BEFORE_SECURITY,
    /** Sees requests that Spring Security has let through, with their user. */
    AFTER_SECURITY
  }

  /**
   * Paths that are limited.
   *
   * @param path A path pattern such as /api/** or /orders/{id}.
   * @param methods HTTP methods; all of them if empty. GET includes HEAD.
   * @param rule The name of the rule.
   * @param rules Names of several rules, taken all or nothing.
   * @param place Before or after Spring Security; sluice.place if empty.
   */
  public record Route(
      String path,
      @DefaultValue List<String> methods,
      @Nullable String rule,
      @DefaultValue List<String> rules,
      @Nullable Place place) {

    public List<String> allRules() {
      return Stream.concat(Stream.ofNullable(rule), rules.stream()).distinct().toList();
    }
  }

  /**
   * Limits failed logins through Spring Security.
   *
   * @param rule The rule that counts failed logins.
   * @param rules Several rules, taken all or nothing.
   * @param facet The facet of these rules that holds the login name.
   * @param forgive The accounts whose usage a successful login clears, as facets joined by '+'.
   *     Each has to contain the login name. If empty: the login, and the login with the address.
   */
  public record Login(
      @Nullable String rule,
      @DefaultValue List<String> rules,
      @DefaultValue("login") String facet,
      @DefaultValue List<String> forgive) {

    public List<String> allRules() {
      return Stream.concat(Stream.ofNullable(rule), rules.stream()).distinct().toList();
    }

    public List<String> forgiven() {
      return forgive.isEmpty() ? List.of(facet, facet + "+ip") : forgive;
    }
  }
}
