package dev.sluice.spring.boot;

import dev.sluice.Rule;
import dev.sluice.spring.RateLimit;
import dev.sluice.spring.method.Endings;
import dev.sluice.spring.method.Expressions;
import dev.sluice.spring.method.MethodLimits;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.aop.scope.ScopedProxyUtils;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.annotation.Bean;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.util.ClassUtils;

/** Checks the annotated methods of all beans. */
final class MethodCheck {
  private final ConfigurableListableBeanFactory beans;
  private final RuleCheck ruleCheck;
  private final List<String> mistakes;
  private final Expressions expressions;
  private final Map<String, List<String>> methods = new LinkedHashMap<>();

  /**
   * A check that has found nothing yet.
   *
   * @param mistakes where to add what is wrong
   */
  MethodCheck(ConfigurableListableBeanFactory beans, RuleCheck ruleCheck, List<String> mistakes) {
    this.beans = beans;
    this.ruleCheck = ruleCheck;
    this.mistakes = mistakes;
    this.expressions = new Expressions(beans);
  }

  /** Checks all beans; returns the annotated methods and their rules. */
  Map<String, List<String>> checkBeans() {
    for (String name : beans.getBeanDefinitionNames()) {
      if (!ScopedProxyUtils.isScopedTarget(name)) {
        Class<?> type = AutoProxyUtils.determineTargetClass(beans, name);
        if (type != null && isCandidate(type)) {
          checkBean(name, ClassUtils.getUserClass(type));
        }
      }
    }
    return methods;
  }

  private static boolean isCandidate(Class<?> type) {
    return !type.getName().startsWith("org.springframework.")
        && AnnotationUtils.isCandidateClass(type, RateLimit.class);
  }

  private void checkBean(String bean, Class<?> type) {
    Map<Method, Set<RateLimit>> annotated =
        MethodIntrospector.selectMethods(
            type,
            (MethodIntrospector.MetadataLookup<Set<RateLimit>>)
                method -> {
                  Set<RateLimit> found = MethodLimits.annotations(method, type);
                  return found.isEmpty() ? null : found;
                });
    annotated.keySet().forEach(method -> checkMethod(bean, method, type));
  }

  private void checkMethod(String bean, Method method, Class<?> type) {
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
      Rule rule = ruleCheck.known(place, limit.rule());
      if (rule != null) {
        names.add(rule.name());
        ruleCheck.checkFacets(place, rule, limit.by().keySet(), findsRequest(method));
        ruleCheck.checkForgiven(place, rule, limit.forgive());
      }
    }
    mistakes.addAll(Endings.mistakes(guard, method, type));
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
        : "@RateLimit has no effect: bean '%s' was created too early to get a proxy"
            .formatted(bean);
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
}
