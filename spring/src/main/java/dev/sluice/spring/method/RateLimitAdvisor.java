package dev.sluice.spring.method;

import dev.sluice.spring.RateLimit;
import java.lang.reflect.Method;
import org.springframework.aop.support.AopUtils;
import org.springframework.aop.support.StaticMethodMatcherPointcutAdvisor;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.AnnotationUtils;

/** Applies {@link RateLimitAdvice} to methods with the annotation, or whose class has it. */
public final class RateLimitAdvisor extends StaticMethodMatcherPointcutAdvisor {
  private static final long serialVersionUID = 1L;

  /** Before transactions and method security with their default orders, so refusals are cheap. */
  private static final int ORDER = Ordered.HIGHEST_PRECEDENCE + 1_000;

  public RateLimitAdvisor(RateLimitAdvice advice) {
    super(advice);
    setOrder(ORDER);
    setClassFilter(type -> AnnotationUtils.isCandidateClass(type, RateLimit.class));
  }

  @Override
  public boolean matches(Method method, Class<?> targetClass) {
    return !MethodLimits.annotations(
            AopUtils.getMostSpecificMethod(method, targetClass), targetClass)
        .isEmpty();
  }
}
