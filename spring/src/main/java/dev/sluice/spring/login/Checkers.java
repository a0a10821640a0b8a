package dev.sluice.spring.login;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.security.authentication.AuthenticationManager;
import org.springframework.security.authentication.AuthenticationProvider;
import org.springframework.security.authentication.ReactiveAuthenticationManager;
import org.springframework.security.core.Authentication;
import org.springframework.util.ReflectionUtils;

/** Counts the providers that may check a password, and managers without providers. */
final class Checkers {
  /*
   * A manager does not show its parent and its delegates, and Spring Security wraps managers for
   * observations. So this reads their fields by reflection. Providers for other kinds of logins do
   * not count, such as the one for anonymous users that every HttpSecurity has.
   */
  private final Authentication login;
  private final Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());

  private Checkers(Authentication login) {
    this.login = login;
  }

  static int count(Object manager, Authentication login) {
    return new Checkers(login).count(manager);
  }

  private int count(Object checker) {
    if (checker instanceof AuthenticationProvider provider) {
      return provider.supports(login.getClass()) ? 1 : 0;
    }
    Object manager = checker;
    for (Object target = manager;
        target != null;
        target = AopProxyUtils.getSingletonTarget(target)) {
      manager = target;
    }
    if (!seen.add(manager)) {
      return 0;
    }
    List<Object> parts = parts(manager);
    return parts.isEmpty() ? 1 : parts.stream().mapToInt(this::count).sum();
  }

  private static List<Object> parts(Object manager) {
    List<Object> parts = new ArrayList<>();
    ReflectionUtils.doWithFields(
        manager.getClass(),
        field -> {
          ReflectionUtils.makeAccessible(field);
          Object value = field.get(manager);
          Collection<?> values = value instanceof Collection<?> many ? many : listOf(value);
          values.stream().filter(Checkers::isChecker).forEach(parts::add);
        },
        field -> isChecker(field.getType()) || Collection.class.isAssignableFrom(field.getType()));
    return parts;
  }

  private static List<Object> listOf(@Nullable Object value) {
    return value == null ? List.of() : List.of(value);
  }

  private static boolean isChecker(@Nullable Object value) {
    return value != null && isChecker(value.getClass());
  }

  private static boolean isChecker(Class<?> type) {
    return AuthenticationManager.class.isAssignableFrom(type)
        || AuthenticationProvider.class.isAssignableFrom(type)
        || ReactiveAuthenticationManager.class.isAssignableFrom(type);
  }
}
