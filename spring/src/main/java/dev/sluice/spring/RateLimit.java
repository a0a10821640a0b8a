package dev.sluice.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Repeatable;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Calls of this method, or of every public method of this class, are judged by a rule.
 *
 * <p>A refused call does not reach the method: {@link RateLimitedException} is thrown, which
 * answers a request with 429. Several on one method are taken all or nothing. What stands on a
 * method replaces what stands on its class. Only calls through the bean are judged: a call of
 * {@code this.method()} inside the bean is not.
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
   * Who asks, where the request does not tell: facets as {@code name=expression}, such as {@code
   * "member=#memberCode"}. The expressions (SpEL) see the arguments and {@code #principal}. A value
   * is text, a number or another single value; a null is a missing facet. Facets that are not given
   * here come from {@link FacetResolver} beans, then from the request.
   */
  String[] by() default {};

  /** What a call costs, an expression over the arguments; 1 if it is empty. */
  String cost() default "";

  /** Which calls count. */
  Count count() default Count.ALWAYS;

  /**
   * With {@link Count#ON_FAILURE}, an expression that is true for a failure. It also sees {@code
   * #result} and {@code #error}; without it a failure is whatever is thrown. An expression that
   * cannot be evaluated counts as a failure; the caller gets the method's own result or error.
   */
  String failedIf() default "";

  /**
   * With {@link Count#ON_FAILURE}, the accounts whose usage a success forgets, by their facets:
   * {@code {"login", "login+ip"}}. The rule must count by each of them. The client's address alone
   * cannot be forgiven: whoever logs into an account of their own between guesses would clear it.
   */
  String[] forgive() default {};

  /** Which calls count. */
  enum Count {
    /** Every call that passes. */
    ALWAYS,
    /**
     * Only calls that fail. The cost is reserved before the method runs; it counts if the method
     * fails and is given back if not. So no number of guesses sent at once gets through more often
     * than the limit says, and nobody is locked out by calls that are still running.
     */
    ON_FAILURE
  }

  /** Several on one method or class. */
  @Target({ElementType.METHOD, ElementType.TYPE})
  @Retention(RetentionPolicy.RUNTIME)
  @Inherited
  @Documented
  @interface All {
    RateLimit[] value();
  }
}
