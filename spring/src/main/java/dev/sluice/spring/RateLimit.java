package dev.sluice.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Repeatable;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Limits the calls of this method, or of every public method of this class, by a rule.
 *
 * <p>A refused call does not reach the method: {@link RateLimitedException} is thrown, which
 * answers a request with 429. Several annotations on one method are taken all or nothing.
 * Annotations on a method replace those on its class. Only calls through the bean are limited: a
 * call of {@code this.method()} inside the bean is not.
 */
@Target({ElementType.METHOD, ElementType.TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Repeatable(RateLimit.All.class)
@Inherited
@Documented
public @interface RateLimit {
  /** The name of the rule. */
  String value();

  /**
   * Facets of the caller that are not in the request, as {@code name=expression}, such as {@code
   * "member=#memberCode"}. The expressions (SpEL) see the arguments and {@code #principal}. A value
   * is text, a number or another single value; a null is a missing facet. Facets that are not given
   * here come from {@link FacetResolver} beans, then from the request.
   */
  String[] by() default {};

  /** The cost of a call, an expression over the arguments; 1 if it is empty. */
  String cost() default "";

  /** Which calls count. */
  Count count() default Count.ALWAYS;

  /**
   * With {@link Count#ON_FAILURE}, an expression that is true for a failure. It also sees {@code
   * #result} and {@code #error}. Without it, every exception is a failure. An expression that
   * cannot be evaluated counts as a failure; the caller gets the method's own result or error.
   */
  String failedIf() default "";

  /**
   * With {@link Count#ON_FAILURE}, the accounts whose usage a success clears, by their facets:
   * {@code {"login", "login+ip"}}. The rule must count by each of them. The client's address alone
   * cannot be cleared: an attacker could do so by logging into an own account between guesses.
   */
  String[] forgive() default {};

  /** Which calls count. */
  enum Count {
    /** Every call that passes. */
    ALWAYS,
    /**
     * Only calls that fail. The cost is reserved before the method runs; it counts if the method
     * fails and is given back if not. So concurrent guesses cannot exceed the limit, and calls that
     * are still running lock nobody out.
     */
    ON_FAILURE
  }

  /** Several annotations on one method or class. */
  @Target({ElementType.METHOD, ElementType.TYPE})
  @Retention(RetentionPolicy.RUNTIME)
  @Inherited
  @Documented
  @interface All {
    RateLimit[] value();
  }
}
