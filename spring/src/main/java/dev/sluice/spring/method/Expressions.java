package dev.sluice.spring.method;

import dev.sluice.internal.Text;
import dev.sluice.spring.call.EdgeRequest;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.context.expression.BeanFactoryResolver;
import org.springframework.context.expression.MethodBasedEvaluationContext;
import org.springframework.core.DefaultParameterNameDiscoverer;
import org.springframework.core.ParameterNameDiscoverer;
import org.springframework.expression.EvaluationContext;
import org.springframework.expression.Expression;
import org.springframework.expression.ParseException;
import org.springframework.expression.spel.SpelNode;
import org.springframework.expression.spel.ast.VariableReference;
import org.springframework.expression.spel.standard.SpelExpression;
import org.springframework.expression.spel.standard.SpelExpressionParser;

/** Parses the expressions of annotations; an unknown variable is an error at the start. */
public final class Expressions {
  private static final SpelExpressionParser PARSER = new SpelExpressionParser();
  private static final ParameterNameDiscoverer NAMES = new DefaultParameterNameDiscoverer();

  private final BeanFactoryResolver beans;

  public Expressions(BeanFactory beans) {
    this.beans = new BeanFactoryResolver(beans);
  }

  /** Parses an expression over the arguments of a method; throws for an unknown variable. */
  Expression parse(String place, String text, Method method, String... more) {
    SpelExpression expression;
    try {
      expression = PARSER.parseRaw(text);
    } catch (ParseException e) {
      throw new IllegalStateException(
          "%s: expression %s: %s".formatted(place, Text.quoted(text), e.getSimpleMessage()), e);
    }
    TreeSet<String> known = new TreeSet<>(List.of(more));
    known.addAll(List.of("principal", "root", "this"));
    String[] names = NAMES.getParameterNames(method);
    for (int i = 0; i < method.getParameterCount(); i++) {
      known.add("a" + i);
      known.add("p" + i);
      if (names != null) {
        known.add(names[i]);
      }
    }
    for (String variable : variables(expression)) {
      if (!known.contains(variable)) {
        String hint =
            Text.nearest(variable, known)
                .map(near -> Text.didYouMean("#" + near))
                .orElseGet(() -> "expected: one of " + known);
        throw new IllegalStateException(
            "%s: expression %s uses '#%s', but the method has no such parameter (%s)"
                    .formatted(place, Text.quoted(text), variable, hint)
                + (names == null ? "; argument names need javac -parameters" : ""));
      }
    }
    return expression;
  }

  /** The variables that an expression uses. */
  static List<String> variables(Expression expression) {
    return expression instanceof SpelExpression spel
        ? variables(spel.getAST(), new ArrayList<>())
        : List.of();
  }

  private static List<String> variables(SpelNode node, List<String> found) {
    if (node instanceof VariableReference) {
      found.add(node.toStringAST().substring(1));
    }
    for (int i = 0; i < node.getChildCount(); i++) {
      variables(node.getChild(i), found);
    }
    return found;
  }

  EvaluationContext context(
      Object target, Method method, @Nullable Object[] arguments, @Nullable EdgeRequest request) {
    Method specific = AopUtils.getMostSpecificMethod(method, target.getClass());
    MethodBasedEvaluationContext context =
        new MethodBasedEvaluationContext(target, specific, arguments, NAMES);
    context.setBeanResolver(beans);
    context.setVariable("principal", request == null ? null : request.user());
    return context;
  }
}
