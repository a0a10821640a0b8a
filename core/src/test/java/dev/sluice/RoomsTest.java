package dev.sluice;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.importer.ImportOption.DoNotIncludeTests;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchCondition;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.lang.ConditionEvents;
import com.tngtech.archunit.lang.SimpleConditionEvent;
import com.tngtech.archunit.library.dependencies.SliceAssignment;
import com.tngtech.archunit.library.dependencies.SliceIdentifier;
import org.jspecify.annotations.NullMarked;

/** The dependencies that the packages of core may have. */
@AnalyzeClasses(packages = "dev.sluice", importOptions = DoNotIncludeTests.class)
class RoomsTest {

  private static final String WORDS = "dev.sluice";

  /** The API and what stores implement depend on each other, so they count as one package. */
  private static final String STORE = "dev.sluice.store";

  private static final String MEMORY = "dev.sluice.memory..";
  private static final String RULES = "dev.sluice.rules..";
  private static final String HTTP = "dev.sluice.http..";

  @ArchTest
  static final ArchRule packagesHaveNoCycles =
      slices().assignedFrom(new EachPackage()).should().beFreeOfCycles().allowEmptyShould(true);

  @ArchTest static final ArchRule wordsKnowNoRoom = roomKnowsNone(WORDS, MEMORY, RULES, HTTP);

  @ArchTest static final ArchRule memoryKnowsNoOtherRoom = roomKnowsNone(MEMORY, RULES, HTTP);

  @ArchTest static final ArchRule rulesKnowNoOtherRoom = roomKnowsNone(RULES, MEMORY, HTTP);

  @ArchTest static final ArchRule httpKnowsNoOtherRoom = roomKnowsNone(HTTP, MEMORY, RULES);

  @ArchTest
  static final ArchRule coreKnowsNoServerClientOrFramework =
      roomKnowsNone(
          "dev.sluice..",
          "com.sun.net.httpserver..",
          "io.lettuce..",
          "jakarta.servlet..",
          "java.net.http..",
          "javax.servlet..",
          "org.springframework..");

  @ArchTest
  static final ArchRule everyPackageIsNullMarked =
      classes().should(new LiveInANullMarkedPackage()).allowEmptyShould(true);

  private static ArchRule roomKnowsNone(String room, String... others) {
    return noClasses()
        .that(resideInAPackage(room))
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage(others)
        .allowEmptyShould(true);
  }

  /** A slice for each package: the usual patterns leave out the one at the root. */
  private static final class EachPackage implements SliceAssignment {

    @Override
    public SliceIdentifier getIdentifierOf(JavaClass type) {
      String name = type.getPackageName();
      return SliceIdentifier.of(name.equals(STORE) ? WORDS : name);
    }

    @Override
    public String getDescription() {
      return "each package";
    }
  }

  private static final class LiveInANullMarkedPackage extends ArchCondition<JavaClass> {

    LiveInANullMarkedPackage() {
      super("live in a package that is @NullMarked");
    }

    @Override
    public void check(JavaClass type, ConditionEvents events) {
      boolean marked = type.getPackage().isAnnotatedWith(NullMarked.class);
      String message =
          "%s: package %s is %s@NullMarked"
              .formatted(type.getName(), type.getPackageName(), marked ? "" : "not ");
      events.add(new SimpleConditionEvent(type, marked, message));
    }
  }
}
