package dev.sluice.spring.boot;

import dev.sluice.Rule;
import dev.sluice.RuleSource;
import dev.sluice.internal.Text;
import dev.sluice.spring.RefusalBody;
import dev.sluice.spring.SluiceProperties;
import dev.sluice.spring.SluiceProperties.Login;
import dev.sluice.spring.SluiceProperties.Place;
import dev.sluice.spring.SluiceProperties.Route;
import dev.sluice.spring.call.Gate;
import dev.sluice.spring.login.LoginGuard;
import dev.sluice.spring.web.Routes;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.env.Environment;
import org.springframework.util.InvalidMimeTypeException;
import org.springframework.util.MimeTypeUtils;

/** Checks all limits at the start; a limit that could not work stops the start. */
public final class StartCheck implements SmartInitializingSingleton {
  private final ConfigurableListableBeanFactory beans;
  private final SluiceProperties properties;
  private final Environment environment;
  private final Map<String, List<String>> methods = new LinkedHashMap<>();

  StartCheck(
      ConfigurableListableBeanFactory beans, SluiceProperties properties, Environment environment) {
    this.beans = beans;
    this.properties = properties;
    this.environment = environment;
  }

  @Override
  public void afterSingletonsInstantiated() {
    Gate gate = beans.getBean(Gate.class);
    List<String> mistakes = new ArrayList<>();
    RuleCheck ruleCheck = new RuleCheck(gate, mistakes);
    checkRoutes(ruleCheck, mistakes);
    checkLogin(ruleCheck, mistakes);
    methods.putAll(new MethodCheck(beans, ruleCheck, mistakes).checkBeans());
    ruleCheck.checkCompared();
    checkBody(mistakes);
    new ProxyCheck(beans, environment)
        .check(ruleCheck.byAddress(), !properties.trustedProxies().isEmpty(), mistakes);
    if (!mistakes.isEmpty()) {
      throw StartFailure.of(
          mistakes,
          "Correct the annotations, routes, rules or properties that are named above.",
          null);
    }
    RuleSource source = gate.limiter().source();
    if (source instanceof RuleLayers layers) {
      layers.use(ruleCheck.used());
    }
    StartReport.log(
        StoreSettings.name(beans, properties, environment), source, properties, methods);
  }

  private void checkBody(List<String> mistakes) {
    beans
        .getBeanProvider(RefusalBody.class)
        .forEach(
            body -> {
              try {
                MimeTypeUtils.parseMimeType(body.contentType());
              } catch (InvalidMimeTypeException e) {
                mistakes.add(
                    "%s: contentType is %s (expected: a media type such as application/json)"
                        .formatted(body.getClass().getName(), Text.quoted(body.contentType())));
              }
            });
  }

  private void checkRoutes(RuleCheck ruleCheck, List<String> mistakes) {
    List<Route> routes = properties.routes();
    for (int i = 0; i < routes.size(); i++) {
      Route route = routes.get(i);
      String place = "sluice.routes[" + i + "]";
      boolean before = Routes.placeOf(route, properties) == Place.BEFORE_SECURITY;
      for (String name : route.allRules()) {
        Rule rule = ruleCheck.known(place, name);
        if (rule != null) {
          ruleCheck.checkFacets(place, rule, Set.of(), true);
          for (String facet : RuleCheck.counted(rule)) {
            if (before && ruleCheck.needsUser(facet)) {
              mistakes.add(
                  "%s: rule '%s' counts by '%s', and before security the user is not known"
                          .formatted(place, name, facet)
                      + " (expected: place: after-security)");
            }
          }
        }
      }
    }
  }

  private void checkLogin(RuleCheck ruleCheck, List<String> mistakes) {
    Login login = properties.login();
    if (login == null) {
      return;
    }
    if (login.allRules().isEmpty()) {
      mistakes.add("sluice.login.rule: missing (expected: the name of a rule)");
    }
    for (String name : login.allRules()) {
      Rule rule = ruleCheck.known("sluice.login", name);
      if (rule != null) {
        ruleCheck.checkFacets("sluice.login", rule, Set.of(login.facet()), true);
        for (String facet : RuleCheck.counted(rule)) {
          if (!facet.equals(login.facet()) && ruleCheck.needsUser(facet)) {
            mistakes.add(
                "sluice.login: rule '%s' counts by '%s', and before a login the user is not known"
                        .formatted(name, facet)
                    + " (expected: facets such as %s and ip)".formatted(login.facet()));
          }
        }
      }
    }
    for (String forgiven : login.forgiven()) {
      if (!Rule.facetsOf(forgiven).contains(login.facet())) {
        mistakes.add(
            "sluice.login.forgive: %s (expected: facets with %s among them; if a login forgave its"
                    .formatted(Text.quoted(forgiven), login.facet())
                + " address, logging into one's own account between guesses would clear it)");
      }
    }
    if (beans.getBeanProvider(LoginGuard.Post.class).stream().noneMatch(LoginGuard.Post::isUsed)) {
      mistakes.add(
          "sluice.login: nothing to guard (expected: Spring Security in a web application, with an"
              + " AuthenticationManager of HttpSecurity, or one that is a bean)");
    }
  }

  /** The annotated methods and their rules. */
  public Map<String, List<String>> methods() {
    return methods;
  }
}
