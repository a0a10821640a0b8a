package dev.sluice.spring.method;

import dev.sluice.Rules;
import dev.sluice.Settlement;
import dev.sluice.internal.Text;
import dev.sluice.spring.RateLimit;
import dev.sluice.spring.call.CallContext;
import dev.sluice.spring.call.Gate;
import dev.sluice.spring.call.PreparedCall;
import dev.sluice.spring.call.Scalars;
import dev.sluice.spring.call.UncountableException;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.expression.EvaluationContext;
import org.springframework.expression.Expression;
import org.springframework.util.ClassUtils;

/** The {@code @RateLimit} annotations of one method, parsed. Immutable. */
public final class MethodLimits {
  /*
   * Annotations that agree in everything but their rule become one call of several rules, which the
   * store takes all or nothing. Others become separate calls, one after another. If one of them is
   * refused, those before it are refunded.
   */
  private final List<Limit> limits;
  private final String place;

  /** One annotation, parsed. */
  public record Limit(
      String rule,
      Map<String, Expression> by,
      @Nullable Expression cost,
      RateLimit.Count count,
      @Nullable Expression failedIf,
      Set<String> forgive) {}

  /** A call, and which of its outcomes count. */
  record Asked(
      PreparedCall call,
      RateLimit.Count count,
      @Nullable Expression failedIf,
      Set<String> forgive) {
    /** The settlement of a call that did not fail. */
    Settlement success() {
      return Settlement.GIVEN_BACK.forgiving(forgive.toArray(new String[0]));
    }

    boolean seesResult() {
      return failedIf != null && Expressions.variables(failedIf).contains("result");
    }
  }

  private MethodLimits(String place, List<Limit> limits) {
    this.place = place;
    this.limits = limits;
  }

  /** The limits of a method, or null if it has no annotation. */
  public static @Nullable MethodLimits of(Method method, Class<?> type, Expressions expressions) {
    Class<?> user = ClassUtils.getUserClass(type);
    Method specific = AopUtils.getMostSpecificMethod(method, user);
    Set<RateLimit> found = annotations(specific, user);
    if (found.isEmpty()) {
      return null;
    }
    String place = user.getSimpleName() + "." + specific.getName();
    List<Limit> limits = new ArrayList<>();
    for (RateLimit each : found) {
      limits.add(read(place, each, specific, expressions));
    }
    return new MethodLimits(place, limits);
  }

  public static Set<RateLimit> annotations(Method method, Class<?> type) {
    Set<RateLimit> own = all(method);
    boolean inherits =
        own.isEmpty()
            && Modifier.isPublic(method.getModifiers())
            && method.getDeclaringClass() != Object.class
            && !method.isSynthetic();
    return inherits ? all(type) : own;
  }

  public static Set<RateLimit> all(AnnotatedElement element) {
    return AnnotatedElementUtils.findMergedRepeatableAnnotations(
        element, RateLimit.class, RateLimit.All.class);
  }

  private static Limit read(String place, RateLimit each, Method method, Expressions expressions) {
    Map<String, Expression> by = new LinkedHashMap<>();
    for (String facet : each.by()) {
      int equals = facet.indexOf('=');
      if (equals < 1) {
        throw new IllegalStateException(
            "%s: by is %s (expected: name=expression, such as member=#memberCode)"
                .formatted(place, Text.quoted(facet)));
      }
      String name = facet.substring(0, equals).strip();
      by.put(name, expressions.parse(place, facet.substring(equals + 1), method));
    }
    boolean always = each.count() == RateLimit.Count.ALWAYS;
    if (always && (!each.failedIf().isEmpty() || each.forgive().length > 0)) {
      throw new IllegalStateException(
          "%s: %s is set without count = ON_FAILURE (expected: both or neither)"
              .formatted(place, each.failedIf().isEmpty() ? "forgive" : "failedIf"));
    }
    return new Limit(
        each.value(),
        by,
        each.cost().isEmpty() ? null : expressions.parse(place, each.cost(), method),
        each.count(),
        each.failedIf().isEmpty()
            ? null
            : expressions.parse(place, each.failedIf(), method, "result", "error"),
        Set.copyOf(List.of(each.forgive())));
  }

  /** The calls of one invocation. */
  List<Asked> ask(Gate gate, CallContext context, EvaluationContext values) {
    List<Group> groups = new ArrayList<>();
    for (Limit limit : limits) {
      Map<String, String> given = new LinkedHashMap<>();
      limit.by.forEach(
          (name, expression) -> {
            String value = text(name, expression, values);
            if (value != null) {
              given.put(name, value);
            }
          });
      Group mine = new Group(limit, cost(limit, values));
      Group fitting = groups.stream().filter(g -> g.fits(mine, given)).findFirst().orElse(mine);
      if (fitting == mine) {
        groups.add(mine);
      }
      fitting.rules.add(limit.rule);
      fitting.given.putAll(given);
    }
    Rules rules = gate.rules();
    return groups.stream().map(group -> group.asked(gate, rules, context)).toList();
  }

  private @Nullable String text(String facet, Expression expression, EvaluationContext values) {
    try {
      return Scalars.text(
          "%s: by = \"%s=%s\"".formatted(place, facet, expression.getExpressionString()),
          expression.getValue(values));
    } catch (IllegalArgumentException e) {
      throw new UncountableException(e);
    }
  }

  private long cost(Limit limit, EvaluationContext values) {
    if (limit.cost == null) {
      return 1;
    }
    Long cost = limit.cost.getValue(values, Long.class);
    if (cost == null || cost < 0) {
      throw new UncountableException(
          new IllegalArgumentException(
              "%s: cost is %s (expected: a whole number, at least 0)".formatted(place, cost)));
    }
    return cost;
  }

  String place() {
    return place;
  }

  public List<Limit> limits() {
    return limits;
  }

  boolean countsFailures() {
    return limits.stream().anyMatch(limit -> limit.count == RateLimit.Count.ON_FAILURE);
  }

  /** The rules of one call. */
  private static final class Group {
    private final List<String> rules = new ArrayList<>();
    private final Map<String, String> given = new LinkedHashMap<>();
    private final Limit first;
    private final long cost;

    Group(Limit first, long cost) {
      this.first = first;
      this.cost = cost;
    }

    boolean fits(Group other, Map<String, String> more) {
      return cost == other.cost
          && first.count == other.first.count
          && text(first.failedIf).equals(text(other.first.failedIf))
          // Forgiveness names facets and not rules, so it would apply to all rules of the call.
          && first.forgive.equals(other.first.forgive)
          && given.equals(more);
    }

    private static String text(@Nullable Expression expression) {
      return expression == null ? "" : expression.getExpressionString();
    }

    Asked asked(Gate gate, Rules inForce, CallContext context) {
      PreparedCall call = gate.call(inForce, rules, given, cost, context);
      boolean open = first.count == RateLimit.Count.ON_FAILURE;
      return new Asked(open ? call.reserving() : call, first.count, first.failedIf, first.forgive);
    }
  }
}
