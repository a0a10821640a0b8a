package dev.sluice.spring.method;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.function.Supplier;
import java.util.stream.BaseStream;
import org.jspecify.annotations.Nullable;
import org.springframework.core.ReactiveAdapterRegistry;
import org.springframework.core.ResolvableType;
import org.springframework.http.HttpEntity;
import org.springframework.util.ClassUtils;

/** Finds out whether a method's result can still fail after the method returned it. */
public final class Endings {
  /*
   * A result is open if it can still fail later: a future, an unread stream, an answer that is written
   * later. The end of a CompletionStage, Callable, Mono or Flux is observed if the method returns it
   * directly, but not inside of something else, such as a ResponseEntity.
   *
   * Declared return types are checked at the start. Where they say nothing (Object, a type variable,
   * a wildcard), each result is checked.
   */
  private static final int DEEPEST = 8; // type parameters can be recursive
  private static final boolean HTTP =
      ClassUtils.isPresent("org.springframework.http.HttpEntity", Endings.class.getClassLoader());

  private Endings() {}

  /** The reasons why the failures of a method cannot be counted. */
  public static List<String> mistakes(MethodLimits guard, Method method, Class<?> type) {
    if (!guard.countsFailures()) {
      return List.of();
    }
    ResolvableType returned = ResolvableType.forMethodReturnType(method, type);
    List<String> mistakes = new ArrayList<>();
    if (suspends(method) || !isObserved(returned)) {
      mistakes.add(
          "%s: count = ON_FAILURE cannot see how a %s ends (expected: a value, CompletionStage,"
                  .formatted(guard.place(), shortName(returned))
              + " Callable, Mono or Flux, with nothing in it that ends later)");
    }
    boolean seesResult =
        guard.limits().stream()
            .map(MethodLimits.Limit::failedIf)
            .anyMatch(each -> each != null && Expressions.variables(each).contains("result"));
    if (seesResult && isFlux(returned.toClass())) {
      mistakes.add(
          "%s: failedIf looks at #result, and a %s has many (expected: #error, or a Mono)"
              .formatted(guard.place(), returned.toClass().getSimpleName()));
    }
    return mistakes;
  }

  /** Whether it is a suspending function of Kotlin. */
  private static boolean suspends(Method method) {
    Class<?>[] parameters = method.getParameterTypes();
    return parameters.length > 0
        && parameters[parameters.length - 1].getName().equals("kotlin.coroutines.Continuation");
  }

  /** A type without its packages: {@code ResponseEntity<Mono<String>>}. */
  private static String shortName(ResolvableType type) {
    return type.toString().replaceAll("[\\w.]+[.$](?=\\w)", "");
  }

  /** Whether the end of a call is observed for this return type. */
  private static boolean isObserved(ResolvableType returned) {
    Class<?> type = returned.toClass();
    boolean followed =
        type == CompletionStage.class
            || type == CompletableFuture.class
            || type == Callable.class
            || isMono(type)
            || isFlux(type);
    if (!followed) {
      return !isOpen(returned, 0);
    }
    for (ResolvableType value : returned.getGenerics()) {
      if (isOpen(value, 0)) {
        return false;
      }
    }
    return true;
  }

  public static boolean isMono(Class<?> type) {
    return type.getName().equals("reactor.core.publisher.Mono");
  }

  /** Whether it is a publisher of several results. */
  public static boolean isFlux(Class<?> type) {
    return type.getName().equals("reactor.core.publisher.Flux")
        || type.getName().equals("org.reactivestreams.Publisher");
  }

  private static boolean isOpen(ResolvableType type, int depth) {
    if (isOpen(type.toClass()) || (type.isArray() && isOpen(type.getComponentType(), depth + 1))) {
      return true;
    }
    if (depth < DEEPEST) {
      for (ResolvableType part : type.getGenerics()) {
        if (isOpen(part, depth + 1)) {
          return true;
        }
      }
    }
    return false;
  }

  private static boolean isOpen(Class<?> type) {
    return Future.class.isAssignableFrom(type)
        || CompletionStage.class.isAssignableFrom(type)
        || Callable.class.isAssignableFrom(type)
        || Supplier.class.isAssignableFrom(type)
        || BaseStream.class.isAssignableFrom(type)
        || Iterator.class.isAssignableFrom(type)
        || isWrittenLater(type)
        || ReactiveAdapterRegistry.getSharedInstance().getAdapter(type) != null;
  }

  /** Whether Spring writes the answer later. By name, because the class may be absent. */
  private static boolean isWrittenLater(@Nullable Class<?> type) {
    if (type == null) {
      return false;
    }
    String name = type.getName();
    if (name.startsWith("org.springframework.web.context.request.async.")
        || name.endsWith(".ResponseBodyEmitter")
        || name.endsWith(".StreamingResponseBody")) {
      return true;
    }
    for (Class<?> each : type.getInterfaces()) {
      if (isWrittenLater(each)) {
        return true;
      }
    }
    return isWrittenLater(type.getSuperclass());
  }

  /** Whether a result can still fail. Of a collection only the first element is checked. */
  static boolean isOpen(@Nullable Object result) {
    Object inner = result;
    for (int depth = 0; inner != null && depth < DEEPEST; depth++) {
      if (isOpen(inner.getClass())) {
        return true;
      }
      inner = contained(inner);
    }
    return false;
  }

  private static @Nullable Object contained(Object result) {
    if (result instanceof Optional<?> value) {
      return value.orElse(null);
    }
    if (result instanceof Collection<?> all) {
      return all.isEmpty() ? null : all.iterator().next();
    }
    if (result instanceof Object[] all) {
      return all.length == 0 ? null : all[0];
    }
    return HTTP ? Http.body(result) : null;
  }

  /** Loaded only if spring-web is present. */
  private static final class Http {
    static @Nullable Object body(Object result) {
      return result instanceof HttpEntity<?> entity ? entity.getBody() : null;
    }
  }
}
