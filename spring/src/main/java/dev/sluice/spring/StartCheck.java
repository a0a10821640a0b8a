package dev.sluice.spring;

import dev.sluice.Rule;
import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.Text;
import dev.sluice.spring.SluiceProperties.Place;
import dev.sluice.spring.SluiceProperties.Route;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
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
import org.springframework.core.ReactiveAdapterRegistry;
import org.springframework.core.ResolvableType;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.core.env.Environment;
import org.springframework.util.ClassUtils;

/** Before the first request: whatever could be silently inactive stops the start. */
final class StartCheck implements SmartInitializingSingleton {
  private static final Logger LOG = LoggerFactory.getLogger("dev.sluice.spring.Sluice");

  private final ConfigurableListableBeanFactory beans;
  private final SluiceProperties properties;
  private final Environment environment;
  private final Expressions expressions;
  private final Map<String, List<String>> methods = new LinkedHashMap<>();
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
    for (String name : beans.getBeanDefinitionNames()) {
      if (!ScopedProxyUtils.isScopedTarget(name)) {
        Class<?> type = AutoProxyUtils.determineTargetClass(beans, name);
        if (type != null && isCandidate(type)) {
          checkBean(name, ClassUtils.getUserClass(type), gate, rules);
        }
      }
    }
    if (!mistakes.isEmpty()) {
      throw new IllegalStateException("Sluice cannot start:\n  " + String.join("\n  ", mistakes));
    }
    if (gate.limiter().source() instanceof RuleLayers layers) {
      layers.use(used);
    }
    report(gate, rules);
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
                  "%s: rule '%s' counts by '%s', and before security nobody is signed in"
                          .formatted(place, name, facet)
                      + " (expected: place: after-security)");
            }
          }
        }
      }
    }
  }

  private void checkBean(String bean, Class<?> type, Gate gate, Rules rules) {
    Map<Method, Set<RateLimit>> annotated =
        MethodIntrospector.selectMethods(
            type,
            (MethodIntrospector.MetadataLookup<Set<RateLimit>>)
                method -> {
                  Set<RateLimit> found = Guard.annotations(method, type);
                  return found.isEmpty() ? null : found;
                });
    annotated.keySet().forEach(method -> checkMethod(bean, method, type, gate, rules));
  }

  private void checkMethod(String bean, Method method, Class<?> type, Gate gate, Rules rules) {
    String place = type.getSimpleName() + "." + method.getName();
    boolean own = !Guard.all(method).isEmpty();
    String obstacle = obstacle(bean, method);
    if (obstacle != null) {
      // A final method of a class that says nothing about limits is not what was meant.
      boolean meant = own || !Guard.all(method.getDeclaringClass()).isEmpty();
      if (meant || !Modifier.isFinal(method.getModifiers())) {
        mistakes.add(place + ": " + obstacle);
      }
      return;
    }
    Guard guard;
    try {
      guard = Guard.of(method, type, expressions);
    } catch (IllegalStateException e) {
      mistakes.add(String.valueOf(e.getMessage()));
      return;
    }
    if (guard == null) {
      return;
    }
    List<String> names = new ArrayList<>();
    for (Guard.Limit limit : guard.limits()) {
      Rule rule = known(place, limit.rule(), rules);
      if (rule != null) {
        names.add(rule.name());
        checkFacets(place, rule, limit.by().keySet(), gate, rules, findsRequest(method));
      }
    }
    if (guard.countsFailures() && !canTellFailure(method)) {
      mistakes.add(
          "%s: count = ON_FAILURE cannot see how a %s ends (expected: a value, CompletionStage,"
                  .formatted(place, method.getReturnType().getSimpleName())
              + " Callable, Mono or Flux)");
    }
    methods.put(place, names);
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
        : "@RateLimit has no effect: bean '%s' was made before proxies could be".formatted(bean);
  }

  private @Nullable Rule known(String place, String name, Rules rules) {
    Rule rule = rules.find(name);
    if (rule == null) {
      List<String> all = rules.all().stream().map(Rule::name).toList();
      String hint =
          Text.nearest(name, all)
              .map(near -> "did you mean '" + near + "'?")
              .orElse("expected: one of " + all);
      mistakes.add("%s: no rule %s (%s)".formatted(place, Text.quoted(name), hint));
    } else {
      used.add(name);
    }
    return rule;
  }

  private void checkFacets(
      String place, Rule rule, Set<String> given, Gate gate, Rules rules, boolean findsRequest) {
    if (rule.by().isEmpty()) {
      boolean any =
          !given.isEmpty()
              || !gate.facets().wanted(rules, List.of(rule.name()), Map.of()).isEmpty();
      if (!any) {
        mistakes.add(
            "%s: rule '%s' counts every facet of a call, and nobody tells one (expected: by on the"
                    .formatted(place, rule.name())
                + " rule or the annotation)");
      }
      return;
    }
    for (String facet : counted(rule)) {
      if (given.contains(facet)) {
        continue;
      }
      if (!gate.facets().knows(rules, facet)) {
        mistakes.add(
            "%s: rule '%s' counts by '%s', which nobody tells (expected: by = \"%s=…\", a"
                    .formatted(place, rule.name(), facet, facet)
                + " FacetResolver bean, or sluice.facets."
                + facet
                + ")");
      } else if (!findsRequest && gate.facets().ofRequest(rules, facet)) {
        mistakes.add(
            "%s: rule '%s' counts by '%s', and in WebFlux only methods that return a Mono or Flux,"
                    .formatted(place, rule.name(), facet)
                + " or take a ServerWebExchange, find their request");
      }
    }
  }

  private static Set<String> counted(Rule rule) {
    Set<String> facets = new LinkedHashSet<>();
    rule.by().forEach(identity -> facets.addAll(List.of(identity.split("\\+", -1))));
    return facets;
  }

  /** In WebFlux a request travels with the subscription, not with the thread. */
  private boolean findsRequest(Method method) {
    if (!beans.containsBean("sluiceFilterBeforeSecurity") || !beans.containsBean("webHandler")) {
      return true;
    }
    boolean exchange =
        List.of(method.getParameterTypes()).stream()
            .anyMatch(type -> type.getName().endsWith(".ServerWebExchange"));
    return exchange || isPublisher(method.getReturnType());
  }

  private static boolean isPublisher(Class<?> type) {
    return type.getName().equals("reactor.core.publisher.Mono")
        || type.getName().equals("reactor.core.publisher.Flux")
        || type.getName().equals("org.reactivestreams.Publisher");
  }

  private static boolean canTellFailure(Method method) {
    Class<?>[] parameters = method.getParameterTypes();
    boolean suspends =
        parameters.length > 0
            && parameters[parameters.length - 1].getName().equals("kotlin.coroutines.Continuation");
    return !suspends && canTellFailure(ResolvableType.forMethodReturnType(method));
  }

  /**
   * Whether how a call ended is known when the method has returned, or when what it returned is.
   */
  private static boolean canTellFailure(ResolvableType returned) {
    Class<?> type = returned.toClass();
    if (CompletionStage.class.isAssignableFrom(type)) {
      return type.isAssignableFrom(CompletableFuture.class);
    }
    if (Callable.class.isAssignableFrom(type)) {
      return type == Callable.class;
    }
    if (isA(type, "org.springframework.http.HttpEntity")) {
      ResolvableType body = returned.getGeneric(0);
      return body.toClass() == Object.class || isValue(body.toClass());
    }
    return isPublisher(type) || isValue(type);
  }

  /** Whether nothing of a result is still to come. */
  private static boolean isValue(Class<?> type) {
    return !Future.class.isAssignableFrom(type)
        && !Callable.class.isAssignableFrom(type)
        && !CompletionStage.class.isAssignableFrom(type)
        && ReactiveAdapterRegistry.getSharedInstance().getAdapter(type) == null
        && !isA(type, "org.springframework.web.servlet.mvc.method.annotation.ResponseBodyEmitter")
        && !type.getName().startsWith("org.springframework.web.context.request.async.")
        && !type.getName().endsWith(".StreamingResponseBody");
  }

  private static boolean isA(@Nullable Class<?> type, String name) {
    return type != null && (type.getName().equals(name) || isA(type.getSuperclass(), name));
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
    LOG.info(
        "Sluice is on. Store: {}. {}. {}. {}.",
        StoreSettings.name(properties, environment),
        counted("rule", rules.all().stream().map(Rule::name).toList()),
        counted("route", routes),
        counted("annotated method", guarded));
    if (rules.size() == 0 || (routes.isEmpty() && guarded.isEmpty())) {
      LOG.warn("Sluice limits nothing yet: no route and no annotated method, or no rules");
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

  /** What is limited: places and the rules that stand there. */
  Map<String, List<String>> methods() {
    return methods;
  }
}
