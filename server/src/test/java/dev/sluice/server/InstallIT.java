package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testing.Needs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Projects of others build against what {@code ./sluice install} has installed, and nothing else.
 */
@Tag("release")
@Needs("bash")
class InstallIT {
  /*
   * The local repository of this test begins empty. Maven fills it from the one of this machine, as if
   * that were remote, and from Maven Central where something is missing. No artifact of Sluice comes
   * that way: snapshots are off, and each test compares what is there with what the install put there.
   */
  private static final String SETTINGS =
      """
      <settings>
        <profiles>
          <profile>
            <id>downloaded</id>
            <repositories>
              <repository>
                <id>downloaded</id>
                <url>%1$s</url>
                <snapshots><enabled>false</enabled></snapshots>
              </repository>
            </repositories>
            <pluginRepositories>
              <pluginRepository>
                <id>downloaded</id>
                <url>%1$s</url>
                <snapshots><enabled>false</enabled></snapshots>
              </pluginRepository>
            </pluginRepositories>
          </profile>
        </profiles>
        <activeProfiles><activeProfile>downloaded</activeProfile></activeProfiles>
      </settings>
      """;

  @TempDir static Path folder;
  private static Path repository;
  private static Path settings;
  private static Path program;
  private static String printed = "";
  private static Set<Path> installed = Set.of();

  @BeforeAll
  static void install() throws Exception {
    repository = folder.resolve("repository");
    settings = folder.resolve("settings.xml");
    Files.writeString(settings, SETTINGS.formatted(localRepository().toUri()));
    Path copy = SourceTree.copy(SourceTree.ROOT, folder.resolve("sluice"));

    printed =
        SourceTree.run(
            copy,
            List.of("bash", "./sluice", "install", "-gs", settings.toString(), repositoryOption()));

    installed = ofSluice();

    program =
        SourceTree.copy(SourceTree.ROOT.resolve("examples/plain-java"), folder.resolve("program"));
    build(program, "-o", "-Dmaven.test.skip=true");
  }

  @Test
  void installPutsThereWhatIsPublishedAndPrintsWhatToPaste() throws IOException {
    try (Stream<Path> artifacts = Files.list(repository.resolve("dev/sluice"))) {
      assertThat(artifacts.map(artifact -> artifact.getFileName().toString()))
          .containsExactlyInAnyOrder(
              "sluice-parent",
              "sluice-bom",
              "sluice-core",
              "sluice-redis",
              "sluice-server",
              "sluice-spring-boot-starter");
    }
    assertThat(printed)
        .contains("Installed in " + repository + ":")
        .contains("<artifactId>sluice-spring-boot-starter</artifactId>")
        .contains("implementation(\"dev.sluice:sluice-spring-boot-starter:");
  }

  /** Nothing but the install had put anything into the repository at that time. */
  @Test
  void emptyRepositoryAndTheInstallAreEnoughForAProgram() {
    assertThat(program.resolve("target/plain-java-1.0.0.jar")).isRegularFile();
  }

  /** The first build downloads what the example uses beside Sluice; the second has no network. */
  @ParameterizedTest
  @ValueSource(strings = {"plain-java", "spring-mvc", "spring-webflux"})
  void exampleBuildsOfflineAndItsTestSeesTheFirst429(String example) throws Exception {
    Path sources = SourceTree.ROOT.resolve("examples").resolve(example);
    build(SourceTree.copy(sources, folder.resolve("online").resolve(example)));
    Path offline = SourceTree.copy(sources, folder.resolve("offline").resolve(example));

    String output = build(offline, "-o");

    assertThat(output).contains("Tests run: 1, Failures: 0, Errors: 0, Skipped: 0");
    assertThat(offline.resolve("target").resolve(example + "-1.0.0.jar")).isRegularFile();
    assertThat(ofSluice()).isEqualTo(installed);
  }

  private static String build(Path project, String... options) throws Exception {
    return SourceTree.maven(
        project,
        Stream.concat(
                Stream.of("-gs", settings.toString(), repositoryOption(), "verify"),
                Stream.of(options))
            .toArray(String[]::new));
  }

  private static String repositoryOption() {
    return "-Dmaven.repo.local=" + repository;
  }

  /** The artifacts of Sluice in the repository of this test. */
  private static Set<Path> ofSluice() throws IOException {
    try (Stream<Path> files = Files.walk(repository.resolve("dev/sluice"))) {
      return files
          .filter(file -> file.toString().endsWith(".jar") || file.toString().endsWith(".pom"))
          .collect(TreeSet::new, Set::add, Set::addAll);
    }
  }

  /** The local repository of the Maven that runs this test, as Surefire names it. */
  private static Path localRepository() {
    String named = System.getProperty("localRepository");
    return named != null
        ? Path.of(named)
        : Path.of(System.getProperty("user.home"), ".m2", "repository");
  }
}
