package dev.sluice.spring.boot;

import dev.sluice.spring.peer.PeerSetup;
import java.util.Collection;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.boot.cloud.CloudPlatform;
import org.springframework.core.env.Environment;
import org.springframework.util.StringUtils;

/** Checks that Sluice knows the proxies of an application which says that it is behind some. */
final class ProxyCheck {
  /*
   * Sluice counts the address of the connection. Behind proxies that it does not know, this is the
   * address of the proxy, and all clients would share one account.
   */
  private static final Logger LOG = LoggerFactory.getLogger(ProxyCheck.class);
  private static final String STRATEGY = "server.forward-headers-strategy";
  private static final List<String> TOMCAT =
      List.of("server.tomcat.remoteip.remote-ip-header", "server.tomcat.remoteip.protocol-header");
  private static final List<String> BEANS =
      List.of("forwardedHeaderFilter", "forwardedHeaderTransformer");
  private static final String EXPECTED =
      "sluice.trusted-proxies: empty, but %s and the rules %s need the client's address (expected:"
          + " the addresses of your proxies, such as 10.0.0.7; or %s=none if there is no proxy)";

  private final ListableBeanFactory beans;
  private final Environment environment;

  ProxyCheck(ListableBeanFactory beans, Environment environment) {
    this.beans = beans;
    this.environment = environment;
  }

  /**
   * Adds what is wrong to the mistakes; if Spring only guesses that there are proxies, logs it.
   *
   * @param byAddress the rules that count or compare the address of a request
   */
  void check(Collection<String> byAddress, boolean trustsProxies, List<String> mistakes) {
    if (byAddress.isEmpty() || !beans.containsBean("sluiceFilterBeforeSecurity")) {
      return;
    }
    String explainer = explainer();
    String guess = guess();
    if (!trustsProxies && explainer != null) {
      mistakes.add(EXPECTED.formatted(explainer, byAddress, STRATEGY));
    } else if (!trustsProxies && guess != null) {
      LOG.warn(EXPECTED.formatted(guess, byAddress, STRATEGY));
    }
    String server = unknownServer();
    if (server != null && (explainer != null || guess != null)) {
      mistakes.add(
          "%s: Sluice does not know how the server of %s tells the peer of a connection (expected: %s=none)"
              .formatted(explainer == null ? guess : explainer, server, STRATEGY));
    }
  }

  private @Nullable String unknownServer() {
    String setup = "sluicePeerSetup"; // by name: its type does not load without web servers
    return beans.containsBean(setup) ? beans.getBean(setup, PeerSetup.class).unknown() : null;
  }

  /** The setting by which forwarded headers are explained to the application; null if none is. */
  private @Nullable String explainer() {
    String strategy = environment.getProperty(STRATEGY);
    if (strategy != null && !strategy.equalsIgnoreCase("none")) {
      return STRATEGY + " is " + strategy;
    }
    for (String property : TOMCAT) {
      if (StringUtils.hasText(environment.getProperty(property))) {
        return property + " is set";
      }
    }
    return BEANS.stream()
        .filter(beans::containsBean)
        .findFirst()
        .map(bean -> "there is a bean '" + bean + "'")
        .orElse(null);
  }

  /** On a cloud platform, Spring Boot sets the strategy to native by itself. */
  private @Nullable String guess() {
    CloudPlatform platform =
        environment.containsProperty(STRATEGY) ? null : CloudPlatform.getActive(environment);
    return platform == null || !platform.isUsingForwardHeaders()
        ? null
        : "%s is native by default on %s".formatted(STRATEGY, platform);
  }
}
