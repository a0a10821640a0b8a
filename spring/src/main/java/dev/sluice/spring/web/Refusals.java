package dev.sluice.spring.web;

import dev.sluice.spring.RateLimitedException;
import dev.sluice.spring.call.Answer;
import dev.sluice.spring.call.RefusedCall;
import dev.sluice.spring.call.UncountableException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.context.ApplicationContext;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.util.ReflectionUtils;
import org.springframework.util.function.SingletonSupplier;
import org.springframework.web.bind.annotation.ControllerAdvice;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.method.ControllerAdviceBean;

/** Finds the answer to an exception, and whether the application has a handler for refusals. */
public final class Refusals {
  /*
   * Many applications have a handler that answers every Exception with 500. It must not get refusals.
   * A handler that names RateLimitedException was written for them, and does get them.
   */
  private static final String OURS = "dev.sluice.spring.webflux.";
  private static final int DEEPEST = 16; // causes can be circular

  private final Supplier<List<ControllerAdviceBean>> advice;
  private final ConcurrentHashMap<Class<?>, Boolean> known = new ConcurrentHashMap<>();

  public Refusals(ApplicationContext beans) {
    // Looked up with the first refusal, because filters are created before advice.
    this.advice = SingletonSupplier.of(() -> naming(beans));
  }

  private static List<ControllerAdviceBean> naming(ApplicationContext beans) {
    List<ControllerAdviceBean> found = new ArrayList<>();
    for (String name : beans.getBeanNamesForAnnotation(ControllerAdvice.class)) {
      ControllerAdvice annotation = beans.findAnnotationOnBean(name, ControllerAdvice.class);
      if (annotation != null && names(beans.getType(name))) {
        found.add(new ControllerAdviceBean(name, beans, annotation));
      }
    }
    return found;
  }

  /** The refusal among an exception and its causes, or null. */
  public static @Nullable RefusedCall refusalIn(Throwable error) {
    return find(error, RefusedCall.class);
  }

  /** The answer to an exception of Sluice among an exception and its causes, or null. */
  public static @Nullable Answer answerTo(Throwable error) {
    RefusedCall refusal = refusalIn(error);
    if (refusal != null) {
      return refusal.answer();
    }
    UncountableException uncountable = find(error, UncountableException.class);
    return uncountable == null ? null : Answer.to(uncountable);
  }

  private static <T> @Nullable T find(Throwable error, Class<T> type) {
    Throwable each = error;
    for (int depth = 0; each != null && depth < DEEPEST; depth++) {
      if (type.isInstance(each)) {
        return type.cast(each);
      }
      each = each.getCause();
    }
    return null;
  }

  /**
   * Whether the application has a handler for refusals of this controller.
   *
   * @param controller the class whose method was called; null for a route
   */
  public boolean areHandled(@Nullable Class<?> controller) {
    return (controller != null && known.computeIfAbsent(controller, Refusals::names))
        || advice.get().stream().anyMatch(each -> each.isApplicableToBeanType(controller));
  }

  /** Whether the application has a handler for refusals of any controller. */
  public boolean areNamed() {
    return !advice.get().isEmpty();
  }

  /** Whether a class has a handler that names refusals. */
  private static boolean names(@Nullable Class<?> type) {
    if (type == null || type.getName().startsWith(OURS)) {
      return false;
    }
    for (Method method : ReflectionUtils.getAllDeclaredMethods(type)) {
      ExceptionHandler handler =
          AnnotatedElementUtils.findMergedAnnotation(method, ExceptionHandler.class);
      if (handler != null
          && (Arrays.asList(handler.value()).contains(RateLimitedException.class)
              || Arrays.asList(method.getParameterTypes()).contains(RateLimitedException.class))) {
        return true;
      }
    }
    return false;
  }
}
