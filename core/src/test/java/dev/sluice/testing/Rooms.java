package dev.sluice.testing;

import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaMethod;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.syntax.ArchRuleDefinition;
import com.tngtech.archunit.library.dependencies.SliceAssignment;
import com.tngtech.archunit.library.dependencies.SliceIdentifier;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.jspecify.annotations.NullMarked;

/** The packages of a module, and the rules that every module keeps. */
public final class Rooms {
  /** More classes than these hide what belongs together. */
  private static final int MOST_TYPES = 25;

  private final JavaClasses classes;

  private Rooms(JavaClasses classes) {
    this.classes = classes;
  }

  /** The main classes of a package and those below it. */
  public static Rooms of(String packageName) {
    return new Rooms(
        new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests())
            .importPackages(packageName));
  }

  public JavaClasses classes() {
    return classes;
  }

  /** No package of a pattern depends on any of the others. */
  public void knowNone(String room, String... others) {
    ArchRuleDefinition.noClasses()
        .that()
        .resideInAPackage(room)
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage(others)
        .check(classes);
  }

  /** There are no cycles between packages. */
  public void haveNoCycles() {
    haveNoCycles(name -> name);
  }

  /**
   * There are no cycles between groups of packages.
   *
   * @param group the group of a package
   */
  public void haveNoCycles(UnaryOperator<String> group) {
    slices().assignedFrom(new Groups(group)).should().beFreeOfCycles().check(classes);
  }

  private record Groups(UnaryOperator<String> group) implements SliceAssignment {
    @Override
    public SliceIdentifier getIdentifierOf(JavaClass type) {
      return SliceIdentifier.of(group.apply(type.getPackageName()));
    }

    @Override
    public String getDescription() {
      return "packages";
    }
  }

  /** The packages that are not {@code @NullMarked}. */
  public List<String> notNullMarked() {
    return classes.stream()
        .filter(type -> !type.getPackage().isAnnotatedWith(NullMarked.class))
        .map(JavaClass::getPackageName)
        .filter(name -> !name.isEmpty()) // module-info
        .distinct()
        .toList();
  }

  /** The packages with too many classes, and how many. */
  public Map<String, Integer> crowded() {
    Map<String, Integer> counts = new TreeMap<>();
    classes.stream()
        .filter(type -> type.isTopLevelClass() && !type.getSimpleName().equals("package-info"))
        .forEach(type -> counts.merge(type.getPackageName(), 1, Integer::sum));
    counts.values().removeIf(count -> count <= MOST_TYPES);
    return counts;
  }

  /** Public methods and constructors of public types of a package that show types of others. */
  public List<String> showing(String packageName, String... hidden) {
    List<String> found = new ArrayList<>();
    for (JavaClass type : classes) {
      if (type.getPackageName().equals(packageName)
          && type.getModifiers().contains(JavaModifier.PUBLIC)) {
        for (JavaMethod method : type.getMethods()) {
          if (method.getModifiers().contains(JavaModifier.PUBLIC)
              && Stream.concat(
                      Stream.of(method.getRawReturnType()), method.getRawParameterTypes().stream())
                  .anyMatch(each -> Stream.of(hidden).anyMatch(each.getName()::startsWith))) {
            found.add(method.getFullName());
          }
        }
      }
    }
    return found;
  }
}
