package dev.sluice.redis.mutants;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectMethod;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectUniqueId;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** A process that runs tests one after the other and ends with the first failure. */
final class Trial implements TestExecutionListener {
  static final int PASSED = 0;
  static final int FAILED = 1;
  static final int NO_TEST_RAN = 2;

  private final Path result;
  private int passed;

  private Trial(Path result) {
    this.result = result;
  }

  /**
   * Gets a file to write the name and the id of the test that fails to, then what to run: names of
   * test classes, or of a method with # before it, or ids that were written before.
   */
  public static void main(String[] arguments) {
    List<String> tests = Arrays.asList(arguments).subList(1, arguments.length);
    Launcher launcher = LauncherFactory.create();
    for (String name : tests) {
      Trial trial = new Trial(Path.of(arguments[0]));
      launcher.execute(
          LauncherDiscoveryRequestBuilder.request().selectors(selector(name)).build(), trial);
      if (trial.passed == 0) {
        trial.end(NO_TEST_RAN, "no test of " + name + " ran");
      }
    }
    end(PASSED);
  }

  private static DiscoverySelector selector(String name) {
    if (name.startsWith("[")) {
      return selectUniqueId(name);
    }
    return name.contains("#") ? selectMethod(name) : selectClass(name);
  }

  @Override
  public void executionFinished(TestIdentifier test, TestExecutionResult result) {
    if (result.getStatus() == TestExecutionResult.Status.FAILED) {
      result.getThrowable().ifPresent(Throwable::printStackTrace);
      end(FAILED, nameOf(test) + "\n" + test.getUniqueId());
    } else if (test.isTest() && result.getStatus() == TestExecutionResult.Status.SUCCESSFUL) {
      passed++;
    }
  }

  private static String nameOf(TestIdentifier test) {
    return test.getSource()
        .filter(MethodSource.class::isInstance)
        .map(MethodSource.class::cast)
        .map(method -> simple(method.getClassName()) + "." + method.getMethodName())
        .orElse(simple(test.getLegacyReportingName()));
  }

  private static String simple(String className) {
    return className.substring(className.lastIndexOf('.') + 1).replace('$', '.');
  }

  private void end(int code, String what) {
    try {
      Files.writeString(result, what);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    end(code);
  }

  /** Ends at once, with every server that the tests have started. */
  private static void end(int code) {
    ProcessHandle.current().descendants().forEach(ProcessHandle::destroyForcibly);
    Runtime.getRuntime().halt(code);
  }
}
