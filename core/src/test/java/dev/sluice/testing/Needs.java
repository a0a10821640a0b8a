package dev.sluice.testing;

import static java.util.stream.Collectors.joining;
import static org.junit.platform.commons.support.AnnotationSupport.findAnnotation;

import java.io.File;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * The programs a test runs, such as {@code @Needs({"nginx", "ab"})}: without them on the PATH it is
 * skipped, and says which are missing.
 */
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@Inherited
@ExtendWith(Needs.OnPath.class)
public @interface Needs {

  /** Names of programs as one would type them in a shell. */
  String[] value();

  /** Looks for the programs. */
  final class OnPath implements ExecutionCondition {

    @Override
    public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
      return findAnnotation(context.getElement(), Needs.class)
          .map(needs -> answer(List.of(needs.value()), System.getenv().getOrDefault("PATH", "")))
          .orElseGet(() -> ConditionEvaluationResult.enabled("needs no program"));
    }

    static ConditionEvaluationResult answer(List<String> programs, String path) {
      String missing =
          programs.stream().filter(program -> !isOn(path, program)).collect(joining(", "));
      return missing.isEmpty()
          ? ConditionEvaluationResult.enabled("every program is on the PATH")
          : ConditionEvaluationResult.disabled("not on the PATH: " + missing);
    }

    private static boolean isOn(String path, String program) {
      return Arrays.stream(path.split(File.pathSeparator, -1))
          .filter(directory -> !directory.isEmpty())
          .map(directory -> Path.of(directory, program))
          .anyMatch(file -> Files.isRegularFile(file) && Files.isExecutable(file));
    }
  }
}
