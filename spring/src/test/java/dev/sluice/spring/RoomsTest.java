package dev.sluice.spring;

import static com.tngtech.archunit.base.DescribedPredicate.describe;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.library.dependencies.SliceAssignment;
import com.tngtech.archunit.library.dependencies.SliceIdentifier;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.NullMarked;
import org.junit.jupiter.api.Test;

/** Which packages of the starter may depend on a library that an application may lack. */
class RoomsTest {
  private static final String ROOT = "dev.sluice.spring.";
  private static final int MOST_TYPES = 20;

  private static final JavaClasses STARTER =
      new ClassFileImporter()
          .withImportOption(new ImportOption.DoNotIncludeTests())
          .importPackages("dev.sluice.spring");

  @Test
  void packagesAreThoseThatThisTestKnows() {
    assertThat(types().keySet())
        .containsExactlyInAnyOrder(
            "dev.sluice.spring",
            ROOT + "actuator",
            ROOT + "boot",
            ROOT + "call",
            ROOT + "login",
            ROOT + "method",
            ROOT + "mvc",
            ROOT + "peer",
            ROOT + "testing",
            ROOT + "web",
            ROOT + "webflux");
  }

  @Test
  void noPackageDependsOnTheServiceOrOnTheRedisClient() {
    onlyIn().mayDependOn("dev.sluice.server..", "dev.sluice.bench..", "io.lettuce..");
  }

  @Test
  void servletTypesAreForServletApplicationsOnly() {
    onlyIn(
            "mvc.",
            "login.Servlet",
            "peer.ServletPeers",
            "peer.TomcatPeers",
            "boot.SluiceServletAutoConfiguration")
        .mayDependOn("jakarta.servlet..", "org.springframework.web.servlet..");
  }

  @Test
  void reactorIsForReactiveCodeOnly() {
    onlyIn(
            "webflux.",
            "method.ReactiveMethods",
            "login.Reactive",
            "peer.NettyPeers",
            "boot.SluiceReactiveAutoConfiguration")
        .mayDependOn(
            "reactor..",
            "org.reactivestreams..",
            "org.springframework.web.reactive..",
            "org.springframework.web.server..");
  }

  @Test
  void webServersAreForTheirPeersOnly() {
    onlyIn("peer.TomcatPeers").mayDependOn("org.apache..");
    onlyIn("peer.JettyPeers").mayDependOn("org.eclipse..");
    onlyIn("peer.UndertowPeers").mayDependOn("io.undertow..");
    onlyIn("peer.NettyPeers").mayDependOn("reactor.netty..", "io.netty..");
  }

  @Test
  void springSecurityIsForLoginsAndClaimsOnly() {
    onlyIn("login.", "call.Claims").mayDependOn("org.springframework.security..");
  }

  @Test
  void actuatorAndMetersAreForTheActuatorOnly() {
    onlyIn("actuator.")
        .mayDependOn(
            "org.springframework.boot.actuate..",
            "org.springframework.boot.health..",
            "io.micrometer.core..");
  }

  /**
   * None remains. Auto-configurations outside of {@code boot} come after the one there; {@code
   * login} names it as text, because {@code boot} needs the login guard.
   */
  @Test
  void packagesHaveNoCycles() {
    slices().assignedFrom(new EachPackage()).should().beFreeOfCycles().check(STARTER);
  }

  @Test
  void packagesAreSmall() {
    types()
        .forEach((name, types) -> assertThat(types).as(name).hasSizeLessThanOrEqualTo(MOST_TYPES));
  }

  @Test
  void packagesAreNullMarked() {
    assertThat(types().keySet())
        .allMatch(name -> STARTER.getPackage(name).isAnnotatedWith(NullMarked.class));
  }

  /** The top-level types of each package. */
  private static Map<String, Set<String>> types() {
    return STARTER.stream()
        .filter(type -> type.isTopLevelClass() && !type.getSimpleName().equals("package-info"))
        .collect(
            Collectors.groupingBy(
                JavaClass::getPackageName,
                Collectors.mapping(
                    JavaClass::getSimpleName, Collectors.toCollection(TreeSet::new))));
  }

  /** Types by the beginnings of their names behind {@link #ROOT}; nested types are included. */
  private static Types onlyIn(String... beginnings) {
    return new Types(
        describe(
            "not in " + Arrays.toString(beginnings),
            type ->
                Arrays.stream(beginnings)
                    .noneMatch(beginning -> type.getName().startsWith(ROOT + beginning))));
  }

  private record Types(DescribedPredicate<JavaClass> others) {
    void mayDependOn(String... packages) {
      noClasses()
          .that(others)
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(packages)
          .check(STARTER);
    }
  }

  /** A slice for each package, also for the one at the root, which patterns leave out. */
  private static final class EachPackage implements SliceAssignment {
    @Override
    public SliceIdentifier getIdentifierOf(JavaClass type) {
      return SliceIdentifier.of(type.getPackageName());
    }

    @Override
    public String getDescription() {
      return "each package";
    }
  }
}
