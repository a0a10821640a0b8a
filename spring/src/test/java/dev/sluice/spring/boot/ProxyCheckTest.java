package dev.sluice.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.spring.App;
import dev.sluice.spring.peer.PeerSetup;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.support.StaticListableBeanFactory;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.boot.web.server.WebServerFactory;
import org.springframework.context.annotation.Configuration;
import org.springframework.mock.env.MockEnvironment;

/** An application that says it is behind proxies has to tell Sluice which. */
@ExtendWith(OutputCaptureExtension.class)
class ProxyCheckTest {
  private static final String STRATEGY = "server.forward-headers-strategy";

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class Plain {}

  private static App start(WebApplicationType type, String facet, String... more) {
    List<String> settings = new ArrayList<>(List.of(more));
    settings.add("sluice.rules.Api.by=" + facet);
    settings.add("sluice.rules.Api.limit=3 per 30m");
    settings.add("sluice.routes[0].path=/api");
    settings.add("sluice.routes[0].rule=Api");
    settings.add("sluice.routes[0].place=after-security");
    return App.start(type, Plain.class, settings.toArray(new String[0]));
  }

  @ParameterizedTest
  @CsvSource({"SERVLET,native", "SERVLET,framework", "REACTIVE,native", "REACTIVE,framework"})
  void unknownProxiesStopTheStart(WebApplicationType type, String strategy) {
    assertThatThrownBy(() -> start(type, "ip", STRATEGY + "=" + strategy))
        .hasStackTraceContaining(
            "sluice.trusted-proxies: empty, but server.forward-headers-strategy is %s and the rules"
                    .formatted(strategy)
                + " [Api] need the client's address (expected: the addresses of your proxies, such"
                + " as 10.0.0.7; or server.forward-headers-strategy=none if there is no proxy)");
  }

  @Test
  void rulesThatDoNotCountTheAddressNeedNoProxies() {
    start(WebApplicationType.SERVLET, "member", STRATEGY + "=framework").close();
  }

  @Test
  void exemptionByAddressNeedsTheProxies() {
    // Without them, a proxy in this range would exempt everybody.
    String exempt = "sluice.rules.Api.exempt[0].ip=10.0.0.0/8";
    assertThatThrownBy(
            () -> start(WebApplicationType.SERVLET, "member", exempt, STRATEGY + "=framework"))
        .hasStackTraceContaining("sluice.trusted-proxies: empty");
  }

  @Test
  void onACloudPlatformUnknownProxiesAreAWarning(CapturedOutput output) {
    start(WebApplicationType.SERVLET, "ip", "spring.main.cloud-platform=kubernetes").close();

    assertThat(output.getOut())
        .contains(
            "sluice.trusted-proxies: empty, but server.forward-headers-strategy is native by default"
                + " on KUBERNETES and the rules [Api] need the client's address");
  }

  @Test
  void nothingIsSaidOfAnApplicationWithoutProxies(CapturedOutput output) {
    start(WebApplicationType.SERVLET, "ip").close();
    start(WebApplicationType.SERVLET, "ip", STRATEGY + "=none").close();

    assertThat(output.getOut()).doesNotContain("trusted-proxies");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "server.tomcat.remoteip.remote-ip-header",
        "server.tomcat.remoteip.protocol-header",
        STRATEGY
      })
  void everySettingThatExplainsHeadersIsFound(String property) {
    MockEnvironment environment = new MockEnvironment().withProperty(property, "native");

    assertThat(mistakes(environment, "x", new Object(), false))
        .singleElement()
        .asString()
        .startsWith("sluice.trusted-proxies: empty, but " + property + " is ");
  }

  @ParameterizedTest
  @ValueSource(strings = {"forwardedHeaderFilter", "forwardedHeaderTransformer"})
  void ownFilterThatExplainsHeadersIsFound(String bean) {
    assertThat(mistakes(new MockEnvironment(), bean, new Object(), false))
        .singleElement()
        .asString()
        .contains("there is a bean '" + bean + "'");
  }

  @Test
  void serverThatDoesNotTellItsPeersStopsTheStart() {
    PeerSetup setup = new PeerSetup();
    setup.customize(new Unheard());
    MockEnvironment environment = new MockEnvironment().withProperty(STRATEGY, "native");

    assertThat(mistakes(environment, "sluicePeerSetup", setup, true))
        .containsExactly(
            "server.forward-headers-strategy is native: Sluice does not know how the server of "
                + Unheard.class.getName()
                + " tells the peer of a connection (expected: server.forward-headers-strategy=none)");
    assertThat(mistakes(new MockEnvironment(), "sluicePeerSetup", setup, true)).isEmpty();
  }

  /** A factory of another server. */
  private static final class Unheard implements WebServerFactory {}

  private static List<String> mistakes(
      MockEnvironment environment, String name, Object bean, boolean trustsProxies) {
    StaticListableBeanFactory beans = new StaticListableBeanFactory();
    beans.addBean("sluiceFilterBeforeSecurity", new Object());
    beans.addBean(name, bean);
    List<String> mistakes = new ArrayList<>();
    new ProxyCheck(beans, environment).check(List.of("Api"), trustsProxies, mistakes);
    return mistakes;
  }
}
