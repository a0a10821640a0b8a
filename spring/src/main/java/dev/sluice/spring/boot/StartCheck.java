package dev.sluice.spring.boot;

import dev.sluice.Rule;
import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.internal.Text;
import dev.sluice.spring.RateLimit;
import dev.sluice.spring.RefusalBody;
import dev.sluice.spring.SluiceProperties;
import dev.sluice.spring.SluiceProperties.Login;
import dev.sluice.spring.SluiceProperties.Place;
import dev.sluice.spring.SluiceProperties.Route;
import dev.sluice.spring.call.Gate;
import dev.sluice.spring.login.LoginGuard;
import dev.sluice.spring.method.Endings;
import dev.sluice.spring.method.Expressions;
import dev.sluice.spring.method.MethodLimits;
import dev.sluice.spring.web.Routes;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.aop.scope.ScopedProxyUtils;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.annotation.Bean;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.core.env.Environment;
import org.springframework.util.ClassUtils;
import org.springframework.util.InvalidMimeTypeException;
import org.springframework.util.MimeTypeUtils;

/** Checks all limits at the start; a limit that could not work stops the start. */
public final class StartCheck implements SmartInitializingSingleton {
  private static final Logger LOG = LoggerFactory.getLogger("dev.sluice.spring.Sluice");

  private final ConfigurableListableBeanFactory beans;
  private final SluiceProperties properties;
  private final Environment environment;
  private final Expressions expressions;
  private final Map<String, List<String>> methods = new LinkedHashMap<>();
  private final Map<String, Set<String>> supplied = new LinkedHashMap<>();
  private final Set<String> used = new LinkedHashSet<>();
  private final List<String> mistakes = new ArrayList<>();

  StartCheck(
      ConfigurableListableBeanFactory beans, SluiceProperties properties, Environment environment) {
    this.beans = beans;
    this.properties = properties;
    this.environment = environment;
    this.expressions = new Expressions(beans);
  }

  @Override
  public void afterSingletonsInstantiated() {
    Gate gate = beans.getBean(Gate.class);
    Rules rules = gate.limiter().rules();
    checkRoutes(gate, rules);
    checkLogin(gate, rules);
    for (String name : beans.getBeanDefinitionNames()) {
      if (!ScopedProxyUtils.isScopedTarget(name)) {
        Class<?> type = AutoProxyUtils.determineTargetClass(beans, name);
        if (type != null && isCandidate(type)) {
          checkBean(name, ClassUtils.getUserClass(type), gate, rules);
        }
      }
    }
    checkCompared(gate, rules);
    checkBody();
    if (!mistakes.isEmpty()) {
      throw StartFailure.of(
          mistakes, "Correct the annotations, routes or rules that are named above.", null);
    }
    if (gate.limiter().source() instanceof RuleLayers layers) {
      layers.use(used);
    }
    report(gate, rules);
  }

  private void checkBody() {
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

  private static boolean isCandidate(Class<?> type) {
    return !type.getName().startsWith("org.springframework.")
        && AnnotationUtils.isCandidateClass(type, RateLimit.class);
  }

  private void checkRoutes(Gate gate, Rules rules) {
    List<Route> routes = properties.routes();
    for (int i = 0; i < routes.size(); i++) {
      Route route = routes.get(i);
      String place = "sluice.routes[" + i + "]";
      boolean before = Routes.placeOf(route, properties) == Place.BEFORE_SECURITY;
      for (String name : route.allRules()) {
        Rule rule = known(place, name, rules);
        if (rule != null) {
          checkFacets(place, rule, Set.of(), gate, rules, true);
          for (String facet : counted(rule)) {
            if (before && gate.facets().needsUser(rules, facet)) {
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

  private void checkLogin(Gate gate, Rules rules) {
    Login login = properties.login();
    if (login == null) {
      return;
    }
    if (login.allRules().isEmpty()) {
      mistakes.add("sluice.login.rule: missing (expected: the name of a rule)");
    }
    for (String name : login.allRules()) {
      Rule rule = known("sluice.login", name, rules);
      if (rule != null) {
        checkFacets("sluice.login", rule, Set.of(login.facet()), gate, rules, true);
        for (String facet : counted(rule)) {
          if (!facet.equals(login.facet()) && gate.facets().needsUser(rules, facet)) {
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

  private void checkBean(String bean, Class<?> type, Gate gate, Rules rules) {
    Map<Method, Set<RateLimit>> annotated =
        MethodIntrospector.selectMethods(
            type,
            (MethodIntrospector.MetadataLookup<Set<RateLimit>>)
                method -> {
                  Set<RateLimit> found = MethodLimits.annotations(method, type);
                  return found.isEmpty() ? null : found;
                });
    annotated.keySet().forEach(method -> checkMethod(bean, method, type, gate, rules));
  }

  private void checkMethod(String bean, Method method, Class<?> type, Gate gate, Rules rules) {
    String place = type.getSimpleName() + "." + method.getName();
    boolean own = !MethodLimits.all(method).isEmpty();
    String obstacle = obstacle(bean, method);
    if (obstacle != null) {
      // An inherited final method, such as of a base class without limits, was not meant.
      boolean meant = own || !MethodLimits.all(method.getDeclaringClass()).isEmpty();
      if (meant || !Modifier.isFinal(method.getModifiers())) {
        mistakes.add(place + ": " + obstacle);
      }
      return;
    }
    MethodLimits guard;
    try {
      guard = MethodLimits.of(method, type, expressions);
    } catch (IllegalStateException e) {
      mistakes.add(String.valueOf(e.getMessage()));
      return;
    }
    if (guard == null) {
      return;
    }
    List<String> names = new ArrayList<>();
    for (MethodLimits.Limit limit : guard.limits()) {
      Rule rule = known(place, limit.rule(), rules);
      if (rule != null) {
        names.add(rule.name());
        checkFacets(place, rule, limit.by().keySet(), gate, rules, findsRequest(method));
        checkForgiven(place, rule, limit.forgive(), gate, rules);
      }
    }
    mistakes.addAll(Endings.mistakes(guard, method, type));
    methods.put(place, names);
  }

  /** The rule must count by what a success clears, and not by the address alone. */
  private void checkForgiven(String place, Rule rule, Set<String> forgive, Gate gate, Rules rules) {
    for (String identity : forgive) {
      Set<String> facets = Rule.facetsOf(identity);
      boolean counted =
          rule.by().isEmpty()
              ? facets.size() == 1
              : rule.by().stream().anyMatch(each -> Rule.facetsOf(each).equals(facets));
      if (!counted) {
        mistakes.add(
            "%s: forgive is %s, and rule '%s' does not count by that (expected: %s)"
                .formatted(
                    place,
                    Text.quoted(identity),
                    rule.name(),
                    rule.by().isEmpty() ? "one facet" : "one of " + rule.by()));
      } else if (facets.stream().allMatch(facet -> gate.facets().isAddress(rules, facet))) {
        mistakes.add(
            "%s: forgive is %s, the client's address alone (expected: an account such as login;"
                    .formatted(place, Text.quoted(identity))
                + " an attacker could clear the address by logging in between guesses)");
      }
    }
  }

  private @Nullable String obstacle(String bean, Method method) {
    int modifiers = method.getModifiers();
    if (Modifier.isPrivate(modifiers) || Modifier.isStatic(modifiers)) {
      return "@RateLimit has no effect on a private or static method";
    }
    if (Modifier.isFinal(modifiers)
        || Modifier.isFinal(method.getDeclaringClass().getModifiers())) {
      return "@RateLimit has no effect on a final method or class (expected: not final)";
    }
    if (AnnotatedElementUtils.hasAnnotation(method, Bean.class)) {
      return "@RateLimit has no effect on a @Bean method (expected: on methods of the bean)";
    }
    Object made = beans.containsSingleton(bean) ? beans.getSingleton(bean) : null;
    if (made instanceof FactoryBean<?>) {
      made = beans.isSingleton(bean) ? beans.getBean(bean) : null;
    }
    return made == null || AopUtils.isAopProxy(made)
        ? null
        : "@RateLimit has no effect: bean '%s' was created too early to get a proxy"
            .formatted(bean);
  }

  private @Nullable Rule known(String place, String name, Rules rules) {
    Rule rule = rules.find(name);
    if (rule == null) {
      List<String> all = rules.all().stream().map(Rule::name).toList();
      String hint = Text.nearest(name, all).map(Text::didYouMean).orElse("expected: one of " + all);
      mistakes.add("%s: no rule %s (%s)".formatted(place, Text.quoted(name), hint));
    } else {
      used.add(name);
    }
    return rule;
  }

  private void checkFacets(
      String place, Rule rule, Set<String> given, Gate gate, Rules rules, boolean findsRequest) {
    supplied.computeIfAbsent(rule.name(), name -> new TreeSet<>()).addAll(given);
    if (rule.by().isEmpty()) {
      boolean any =
          !given.isEmpty()
              || !gate.facets().wanted(rules, List.of(rule.name()), Map.of()).isEmpty();
      if (!any) {
        mistakes.add(
            "%s: rule '%s' has no 'by', and no facet is supplied (expected: by on the"
                    .formatted(place, rule.name())
                + " rule or the annotation)");
      }
      return;
    }
    for (String facet : counted(rule)) {
      if (given.contains(facet)) {
        continue;
      }
      // Also if the request supplies it: then the annotation's value would be ignored.
      Optional<String> misspelt = Text.nearest(facet, unused(rule, given));
      if (misspelt.isPresent()) {
        mistakes.add(
            "%s: by supplies '%s', which rule '%s' does not count by (did you mean '%s'?)"
                .formatted(place, misspelt.get(), rule.name(), facet));
      } else if (!gate.facets().knows(rules, facet)) {
        mistakes.add(
            "%s: rule '%s' counts by '%s', which nothing supplies (expected: by = \"%s=…\", a"
                    .formatted(place, rule.name(), facet, facet)
                + " FacetResolver bean, or sluice.facets."
                + facet
                + " with a part of the request)");
      } else if (!findsRequest && gate.facets().ofRequest(rules, facet)) {
        mistakes.add(
            "%s: rule '%s' counts by '%s', and in WebFlux only methods that return a Mono or Flux,"
                    .formatted(place, rule.name(), facet)
                + " or take a ServerWebExchange, find their request");
      }
    }
  }

  /** Facets that an annotation supplies and the rule does not use. */
  private static Set<String> unused(Rule rule, Set<String> given) {
    Set<String> unused = new TreeSet<>(given);
    unused.removeAll(counted(rule));
    unused.removeAll(compared(rule));
    return unused;
  }

  /** An override or exemption by a facet that nothing supplies would never match. */
  private void checkCompared(Gate gate, Rules rules) {
    supplied.forEach(
        (name, given) -> {
          Rule rule = rules.find(name);
          for (String facet : rule == null ? Set.<String>of() : compared(rule)) {
            if (!given.contains(facet) && !gate.facets().knows(rules, facet)) {
              mistakes.add(
                  "rule '%s': an override or exemption compares '%s', which nothing supplies"
                          .formatted(name, facet)
                      + " (expected: a facet that a request, a FacetResolver bean or an annotation"
                      + " supplies)");
            }
          }
        });
  }

  private static Set<String> compared(Rule rule) {
    Set<String> facets = new TreeSet<>();
    rule.overrides().forEach(override -> facets.addAll(override.when().keySet()));
    rule.exempt().forEach(exempt -> facets.addAll(exempt.keySet()));
    return facets;
  }

  private static Set<String> counted(Rule rule) {
    Set<String> facets = new LinkedHashSet<>();
    rule.by().forEach(identity -> facets.addAll(Rule.facetsOf(identity)));
    return facets;
  }

  /** In WebFlux the request is in the Reactor context, not in a thread-local. */
  private boolean findsRequest(Method method) {
    if (!beans.containsBean("sluiceFilterBeforeSecurity") || !beans.containsBean("webHandler")) {
      return true;
    }
    boolean exchange =
        List.of(method.getParameterTypes()).stream()
            .anyMatch(type -> type.getName().endsWith(".ServerWebExchange"));
    Class<?> returned = method.getReturnType();
    return exchange || Endings.isMono(returned) || Endings.isFlux(returned);
  }

  private void report(Gate gate, Rules rules) {
    List<String> routes =
        properties.routes().stream()
            .map(
                route ->
                    "%s%s by %s"
                        .formatted(
                            route.methods().isEmpty()
                                ? ""
                                : String.join("|", route.methods()) + " ",
                            route.path(),
                            String.join("+", route.allRules())))
            .toList();
    List<String> guarded =
        methods.entrySet().stream()
            .map(each -> each.getKey() + " by " + String.join("+", each.getValue()))
            .toList();
    Login login = properties.login();
    LOG.info(
        "Sluice is on. Store: {}. {}. {}. {}.{}",
        StoreSettings.name(beans, properties, environment),
        counted("rule", rules.all().stream().map(Rule::name).toList()),
        counted("route", routes),
        counted("annotated method", guarded),
        login == null ? "" : " Logins by " + String.join("+", login.allRules()) + ".");
    if (rules.size() == 0 || (routes.isEmpty() && guarded.isEmpty() && login == null)) {
      LOG.warn("Sluice limits nothing yet: no route, no annotated method, no login, or no rules");
    }
    RuleSource source = gate.limiter().source();
    source.failure().ifPresent(failure -> LOG.warn("Rules: {}", failure.message()));
  }

  private static String counted(String what, List<String> all) {
    return "%d %s%s%s"
        .formatted(
            all.size(),
            what,
            all.size() == 1 ? "" : "s",
            all.isEmpty() ? "" : ": " + String.join(", ", all));
  }

  /** The annotated methods and their rules. */
  public Map<String, List<String>> methods() {
    return methods;
  }
}
