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
 * @param enabled Whether anything is limited at all.
 * @param store Where usage is kept: "memory" (this JVM alone), "spring" (the Redis of
 *     spring.data.redis.*), or a URI such as redis://host:6379, rediss://, redis-sentinel://,
 *     redis-cluster://host:port,host:port.
 * @param deadline How long Redis may take to answer; after that a rule's onStoreFailure decides.
 * @param nodes How many nodes share the limits while Redis does not answer and each counts for
 *     itself (onStoreFailure: local, the default).
 * @param requireStore Whether the application refuses to start while Redis does not count.
 * @param functions Whether decisions go by functions (FCALL) where Redis has them; else by EVALSHA.
 * @param rules Rules by name, with the keys of a rule file.
 * @param rulesFile A rule file: a path, which is followed while it changes, or classpath:name.
 * @param facets Where a request tells who asks, by the facet's name, as in a rule file.
 * @param routes Paths that are limited by a filter.
 * @param place Where the filter of a route stands, unless the route says otherwise.
 * @param login How logins through Spring Security are guarded; not at all if it is missing.
 * @param headers Header fields that tell clients where they stand: x-ratelimit, draft-11, both,
 *     none.
 * @param trustedProxies Proxies whose word about the client's address is taken; addresses or CIDR
 *     ranges.
 * @param forwardedHeader The header in which they tell it: x-forwarded-for or forwarded.
 * @param ipv6Prefix How many bits of an IPv6 address are one client.
 */
@ConfigurationProperties("sluice")
public record SluiceProperties(
    @DefaultValue("true") boolean enabled,
    @DefaultValue("memory") String store,
    @DefaultValue("500ms") Duration deadline,
    @DefaultValue("1") int nodes,
    @DefaultValue("false") boolean requireStore,
    @DefaultValue("true") boolean functions,
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

  /** Where a filter stands. */
  public enum Place {
    /** Sees every request, also those that security will refuse; nobody is signed in yet. */
    BEFORE_SECURITY,
    /** Sees what security has let through, and who it is. */
    AFTER_SECURITY
  }

  /**
   * Paths that are limited.
   *
   * @param path A path pattern such as /api/** or /orders/{id}.
   * @param methods HTTP methods; all of them if empty. GET includes HEAD.
   * @param rule The rule.
   * @param rules Several rules, taken all or nothing.
   * @param place Where the filter of this route stands; as sluice.place if empty.
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
   * How logins through Spring Security are guarded.
   *
   * @param rule The rule that counts failed logins.
   * @param rules Several rules, taken all or nothing.
   * @param facet The facet that is the name of the account in these rules.
   * @param forgive Whose usage a good login forgets, by facets joined by '+'. Each has to contain
   *     the login; if empty, the login and the login with the address.
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
