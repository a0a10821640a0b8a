package dev.sluice.spring;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.simpleNameStartingWith;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.util.List;
import org.jspecify.annotations.NullMarked;
import org.junit.jupiter.api.Test;

/** The walls of the starter: what an application may lack, only the classes made for it know. */
class RoomsTest {
  private static final String LOGIN = "dev.sluice.spring.login";
  private static final JavaClasses STARTER =
      new ClassFileImporter()
          .withImportOption(new ImportOption.DoNotIncludeTests())
          .importPackages("dev.sluice.spring");

  @Test
  void starterKnowsNoServiceAndNoClientOfRedis() {
    onlyThose().know("dev.sluice.server..", "dev.sluice.bench..", "io.lettuce..");
  }

  @Test
  void onlyTheServletEdgeKnowsServlets() {
    onlyThose("Servlet", "SluiceServlet")
        .know("jakarta.servlet..", "org.springframework.web.servlet..");
  }

  @Test
  void onlyTheReactiveEdgeKnowsReactor() {
    onlyThose("Reactive", "SluiceReactive")
        .know(
            "reactor..",
            "org.reactivestreams..",
            "org.springframework.web.reactive..",
            "org.springframework.web.server..");
  }

  @Test
  void onlyClaimsAndTheLoginGuardKnowSpringSecurity() {
    onlyThose("Claims").orIn(LOGIN).know("org.springframework.security..");
  }

  @Test
  void nothingElseNeedsTheLoginGuardsPackage() {
    onlyThose().orIn(LOGIN).know(LOGIN);
  }

  @Test
  void onlyTheActuatorPartKnowsActuatorAndMeters() {
    onlyThose("SluiceActuator", "SluiceEndpoint")
        .know(
            "org.springframework.boot.actuate..",
            "org.springframework.boot.health..",
            "io.micrometer.core..");
  }

  @Test
  void packagesAreNullMarked() {
    assertThat(List.of("dev.sluice.spring", LOGIN))
        .allMatch(name -> STARTER.getPackage(name).isAnnotatedWith(NullMarked.class));
  }

  private static Those onlyThose(String... prefixes) {
    DescribedPredicate<JavaClass> those = DescribedPredicate.alwaysFalse();
    for (String prefix : prefixes) {
      those = those.or(simpleNameStartingWith(prefix));
    }
    return new Those(those);
  }

  /** Classes by the beginnings of their outermost names. */
  private record Those(DescribedPredicate<JavaClass> prefixes) {
    Those orIn(String packageName) {
      return new Those(prefixes.or(resideInAPackage(packageName)));
    }

    void know(String... packages) {
      DescribedPredicate<JavaClass> others =
          DescribedPredicate.describe("others", type -> !prefixes.test(outermost(type)));
      noClasses()
          .that(others)
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(packages)
          .check(STARTER);
    }

    private static JavaClass outermost(JavaClass type) {
      return type.getEnclosingClass().map(Those::outermost).orElse(type);
    }
  }
}
