package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.xpath.XPathFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.w3c.dom.Document;

/** The POMs say what Maven Central requires, and the pages name the version that is built. */
class PublishedPomsTest {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
  private static final Pattern VERSION_IN_TEXT =
      Pattern.compile(
          "<groupId>dev\\.sluice</groupId>\\s*<artifactId>sluice-[a-z-]+</artifactId>\\s*"
              + "<version>([^<]*)</version>|dev\\.sluice:sluice-[a-z-]+:([\\w.-]+)");

  @ParameterizedTest
  @ValueSource(strings = {"", "bom", "core", "redis", "server", "spring"})
  void publishedPomIsComplete(String module) throws Exception {
    Document pom = pom(module);

    assertThat(text(pom, "name")).isNotEmpty();
    assertThat(text(pom, "description")).isNotEmpty();
    for (String element :
        List.of(
            "url",
            "licenses/license/name",
            "licenses/license/url",
            "developers/developer/name",
            "scm/connection",
            "scm/developerConnection",
            "scm/url")) {
      assertThat(ownOrInherited(pom, element)).as(element).isNotEmpty();
      assertThat(ownOrInherited(pom, element))
          .as("%s of every POM", element)
          .isEqualTo(text(pom(""), element));
    }
    assertThat(ownOrInherited(pom, "groupId")).isEqualTo("dev.sluice");
    assertThat(ownOrInherited(pom, "version")).isEqualTo(version());
    assertThat(text(pom, "properties/maven.deploy.skip")).isNotEqualTo("true");
  }

  @ParameterizedTest
  @ValueSource(strings = {"bench", "examples/spring-boot-demo", "spring/boot4"})
  void otherModulesAreNotPublished(String module) throws Exception {
    assertThat(text(pom(module), "properties/maven.deploy.skip")).isEqualTo("true");
  }

  @Test
  void childrenTakeTheUrlsWithoutTheirNameBehind() throws Exception {
    assertThat(text(pom(""), "@child.project.url.inherit.append.path")).isEqualTo("false");
    assertThat(text(pom(""), "scm/@child.scm.url.inherit.append.path")).isEqualTo("false");
    assertThat(text(pom(""), "scm/@child.scm.connection.inherit.append.path")).isEqualTo("false");
    assertThat(text(pom(""), "scm/@child.scm.developerConnection.inherit.append.path"))
        .isEqualTo("false");
  }

  @Test
  void bomManagesTheArtifactsOfSluiceAndNothingElse() throws Exception {
    Document bom = pom("bom");

    assertThat(text(bom, "parent")).isEmpty();
    List<String> managed = new ArrayList<>();
    for (int i = 1; ; i++) {
      String dependency = "dependencyManagement/dependencies/dependency[" + i + "]/";
      if (text(bom, dependency + "artifactId").isEmpty()) {
        break;
      }
      managed.add(text(bom, dependency + "groupId") + ":" + text(bom, dependency + "artifactId"));
      assertThat(text(bom, dependency + "version")).isEqualTo("${project.version}");
    }
    assertThat(managed)
        .containsExactly(
            "dev.sluice:sluice-core",
            "dev.sluice:sluice-redis",
            "dev.sluice:sluice-server",
            "dev.sluice:sluice-spring-boot-starter");
  }

  @Test
  void releaseHasSourcesJavadocSbomSignaturesAndAnUpload() throws Exception {
    for (String plugin :
        List.of(
            "maven-source-plugin",
            "maven-javadoc-plugin",
            "cyclonedx-maven-plugin",
            "maven-gpg-plugin",
            "central-publishing-maven-plugin")) {
      assertThat(text(pom(""), releasePlugin(plugin))).as(plugin).isEqualTo(plugin);
    }
    for (String plugin : List.of("maven-gpg-plugin", "central-publishing-maven-plugin")) {
      assertThat(text(pom("bom"), releasePlugin(plugin))).as(plugin).isEqualTo(plugin);
      assertThat(text(pom("bom"), releasePlugin(plugin) + "/../version"))
          .as("version of %s", plugin)
          .isEqualTo(
              text(
                  pom(""),
                  "build/pluginManagement/plugins/plugin[artifactId='" + plugin + "']/version"));
    }
  }

  @Test
  void pagesAndExamplesNameThisVersion() throws Exception {
    List<Path> files = new ArrayList<>(List.of(ROOT.resolve("README.md")));
    for (String folder : List.of("docs", "examples")) {
      try (Stream<Path> found = Files.walk(ROOT.resolve(folder))) {
        found.filter(PublishedPomsTest::isPageOrPom).forEach(files::add);
      }
    }
    String built = version();
    List<String> found = new ArrayList<>();
    List<String> wrong = new ArrayList<>();
    for (Path file : files) {
      VERSION_IN_TEXT
          .matcher(Files.readString(file))
          .results()
          .map(result -> result.group(1) != null ? result.group(1) : result.group(2))
          .filter(version -> !version.equals("${project.version}"))
          .forEach(
              version ->
                  (version.equals(built) ? found : wrong)
                      .add(ROOT.relativize(file) + ": " + version));
    }

    assertThat(wrong).as("expected: %s", built).isEmpty();
    assertThat(found)
        .contains(
            "docs/library.md: " + built,
            "docs/spring.md: " + built,
            "examples/plain-java/pom.xml: " + built);
  }

  private static boolean isPageOrPom(Path file) {
    return !file.toString().contains("/target/")
        && (file.toString().endsWith(".md") || file.endsWith("pom.xml"));
  }

  private static String releasePlugin(String name) {
    return "profiles/profile[id='release']/build/plugins/plugin[artifactId='"
        + name
        + "']/artifactId";
  }

  private static String version() throws Exception {
    return text(pom(""), "version");
  }

  private static Document pom(String module) throws Exception {
    Path file = ROOT.resolve(module).resolve("pom.xml");
    return DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(file.toFile());
  }

  /** The text of an element of the POM itself; empty if there is none. */
  private static String text(Document pom, String path) throws Exception {
    return XPathFactory.newInstance().newXPath().evaluate("/project/" + path, pom).strip();
  }

  private static String ownOrInherited(Document pom, String element) throws Exception {
    String own = text(pom, element);
    boolean isChild = text(pom, "parent/artifactId").equals("sluice-parent");
    return own.isEmpty() && isChild ? text(pom(""), element) : own;
  }
}
